"""The embedded server, in folders of its own beside the one that the tests themselves run on."""

import os
import subprocess
import sys
from contextlib import contextmanager

import psycopg
import pytest

from naiply import embedded
from naiply.local import PROJECT_FOLDER


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """As if this were another checkout: with a server, a folder and locks of its own."""
    folder = tmp_path / "it's a checkout"
    monkeypatch.setenv("NAIPLY_LOCAL_FOLDER", str(folder))
    yield folder
    for kind in embedded.KINDS:
        embedded.remove(kind)


def value_of(setting, kind="test"):
    with psycopg.connect(embedded.url(kind)) as connection:
        return connection.execute("SELECT current_setting(%s)", [setting]).fetchone()[0]


def postmaster(kind="test"):
    return int((embedded.home(kind) / "data" / "postmaster.pid").read_text().split()[0])


def is_running(kind="test"):
    folder = embedded.home(kind)
    return embedded._postmaster(folder / "data", folder) is not None


@contextmanager
def another_process_that_holds(kind):
    """A second process that has started the server and is alive inside the block."""
    code = (
        "import sys; from naiply import embedded; embedded.start(sys.argv[1]); "
        "print('started', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, kind],
        cwd=PROJECT_FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "started\n"
        yield process


def test_start_serves_the_database_and_stop_ends_it(checkout):
    address = embedded.start("test")

    assert address == embedded.url("test")
    assert value_of("server_version").startswith("18.")
    assert value_of("server_encoding") == "UTF8"
    assert value_of("max_connections") == "100"
    assert value_of("shared_buffers") == "256MB"
    assert value_of("listen_addresses") == ""
    embedded.stop("test")
    assert not is_running()


def test_only_the_test_server_trades_safety_for_speed(checkout):
    embedded.start("test")
    embedded.start("development")

    assert value_of("fsync", "test") == "off"
    assert value_of("fsync", "development") == "on"
    assert value_of("synchronous_commit", "development") == "on"
    assert value_of("full_page_writes", "development") == "on"


def test_data_survives_stop_and_start(checkout):
    with psycopg.connect(embedded.start("test")) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    embedded.stop("test")

    with psycopg.connect(embedded.start("test")) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_start_twice_is_the_same_server(checkout):
    embedded.start("test")
    first = postmaster()

    embedded.start("test")

    assert postmaster() == first


def test_checkouts_have_servers_of_their_own(checkout, monkeypatch):
    embedded.start("test")
    first = embedded.home("test"), postmaster()
    monkeypatch.setenv("NAIPLY_LOCAL_FOLDER", str(checkout / "other"))

    embedded.start("test")
    second = embedded.home("test"), postmaster()
    embedded.remove("test")

    assert first[0] != second[0]
    assert first[1] != second[1]
    monkeypatch.setenv("NAIPLY_LOCAL_FOLDER", str(checkout))
    assert is_running()


def test_stop_leaves_the_server_to_the_one_who_still_uses_it(checkout):
    with another_process_that_holds("test") as other:
        embedded.start("test")
        embedded.stop("test")
        was_running = is_running()
        other.stdin.close()

    assert was_running
    embedded.stop("test")
    assert not is_running()


def test_killed_user_does_not_keep_the_server(checkout):
    with another_process_that_holds("test") as other:
        other.kill()
    assert is_running()

    embedded.start("test")
    embedded.stop("test")

    assert not is_running()


def test_killed_server_starts_again_with_its_data(checkout):
    with psycopg.connect(embedded.start("development")) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    os.kill(postmaster("development"), 9)

    with psycopg.connect(embedded.start("development")) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_pid_that_belongs_to_another_program_by_now_does_not_fool_it(checkout):
    embedded.start("test")
    embedded.stop("test")
    stale = f"{os.getpid()}\n{embedded.home('test') / 'data'}\n1700000000\n5432\n"
    (embedded.home("test") / "data" / "postmaster.pid").write_text(stale)
    (embedded.home("test") / ".s.PGSQL.5432.lock").write_text(stale)

    embedded.start("test")

    assert value_of("fsync") == "off"
    assert postmaster() != os.getpid()


def test_first_start_that_was_interrupted_is_started_over(checkout):
    draft = embedded.home("test") / "data.draft"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18")

    embedded.start("test")

    assert value_of("fsync") == "off"
    assert not draft.exists()


def test_data_of_another_version_is_refused_in_one_line(checkout):
    embedded.start("test")
    embedded.stop("test")
    (embedded.home("test") / "data" / "PG_VERSION").write_text("17\n")

    with pytest.raises(embedded.EmbeddedError) as caught:
        embedded.start("test")

    assert "was made by PostgreSQL 17, and this is 18." in str(caught.value)
    assert "\n" not in str(caught.value)


def test_socket_path_is_short_enough_however_deep_the_checkout(tmp_path, monkeypatch):
    monkeypatch.setenv("NAIPLY_LOCAL_FOLDER", str(tmp_path / ("é" * 90)))

    socket_path = embedded.home("development") / ".s.PGSQL.5432.lock"

    assert len(os.fsencode(socket_path)) <= 107


def test_folder_of_somebody_else_is_refused(checkout, monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "home", lambda kind: tmp_path / "taken")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "taken").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(embedded.EmbeddedError, match="belongs to somebody else"):
        embedded.start("test")

    (tmp_path / "taken").unlink()


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match='Unexpected kind "staging"'):
        embedded.home("staging")
