"""What every test may use: database server, site, browser, Redis and background worker."""

import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.wsgi import get_wsgi_application
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.utils import translation
from pytest_django.plugin import blocking_manager_key

from naiply import catalogs, embedded
from naiply.asgi import Site
from tests.server import serve
from tests.worker import Worker

# Playwright's synchronous interface keeps an event loop in the test's thread, which Django would
# take for an asynchronous caller.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def pytest_configure(config):
    if is_controller(config):
        catalogs.compile_catalogs()
        if not os.environ.get("DATABASE_URL"):
            embedded.start("test")


def pytest_unconfigure(config):
    if is_controller(config) and not os.environ.get("DATABASE_URL"):
        embedded.stop("test")


def is_controller(config):
    """Whether this process is pytest itself, and not one of the workers of pytest-xdist."""
    return not hasattr(config, "workerinput")


def pytest_collection_modifyitems(items):
    """Lets the rows of data migrations (the five games) survive the tests that really commit.

    Those end by emptying every table. With `serialized_rollback` Django copies the fresh database
    once, and puts the copy back before each of them; `pytest_runtest_teardown` does it after.
    """
    for item in items:
        marker = item.get_closest_marker("django_db")
        is_marked = marker is not None and bool(marker.kwargs.get("transaction"))
        if is_marked or "transactional_db" in getattr(item, "fixturenames", ()):
            arguments = dict(marker.kwargs) if marker else {}
            arguments |= {"transaction": True, "serialized_rollback": True}
            item.add_marker(pytest.mark.django_db(**arguments), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Puts the copy back after a test that committed, whichever kind of test comes next.

    pytest-django sorts those tests to the end, and pytest then takes tests of one browser together,
    so that others may follow.
    """
    result = yield
    marker = item.get_closest_marker("django_db")
    is_last = nextitem is None  # its teardown has removed the database
    if not is_last and marker is not None and marker.kwargs.get("transaction"):
        with item.config.stash[blocking_manager_key].unblock():
            database = connections[DEFAULT_DB_ALIAS]
            database.creation.deserialize_db_from_string(database._test_serialized_contents)
            database.close()  # nobody else may know this one, and it would keep the database in use
    return result


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """The test databases, with that copy in reach of every connection object.

    Once Playwright's event loop runs in the tests' thread, Django takes another object there than
    the one which made the copy. At the end, connections that threads of a served site have left
    open are ended: they would keep the database from being removed.
    """
    contents = getattr(connection, "_test_serialized_contents", None)
    if contents is not None:
        connections[DEFAULT_DB_ALIAS].__class__._test_serialized_contents = contents
    yield
    with django_db_blocker.unblock(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def find_program(*names):
    """The path of a program. Without it the test is skipped, or fails where nothing may be."""
    for name in names:
        if path := shutil.which(name):
            return path
    reason = f"{names[0]} is not installed (apt-get install {names[0]})"
    if os.environ.get("NAIPLY_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def english():
    """Undoes the language that a page of the test before has left switched on in this thread."""
    with translation.override("en"):
        yield


@pytest.fixture
def site(transactional_db):
    """The address of the whole site, served by uvicorn on this worker's test database."""
    with serve(Site(get_wsgi_application(), threads=4)) as address:
        yield address


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """Debian's Chromium instead of the browser builds that playwright would download."""
    return {
        **browser_type_launch_args,
        "executable_path": find_program("chromium", "chromium-browser"),
        "args": [
            "--no-sandbox",  # CI runs as root
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ],
    }


@pytest.fixture
def assert_accessible():
    """A function that fails with what axe has to say against a page, by one rule or by most."""

    def check(page, *, only=None, without=()):
        # The rule on the size of targets is of WCAG 2.2, and off unless asked for.
        rules = {"target-size": {"enabled": True}} | {rule: {"enabled": False} for rule in without}
        options = {"resultTypes": ["violations"], "rules": rules}
        if only:
            options = {"resultTypes": ["violations"], "runOnly": [only]}
        result = Axe().run(page, options=options)
        assert result.violations_count == 0, result.generate_report()

    return check


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    """The address of a Redis server that lives as long as the tests."""
    program = find_program("redis-server")
    folder = tmp_path_factory.mktemp("redis")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if "Ready to accept connections" in line:
                break
        else:
            pytest.fail("redis-server did not start")
        # What it says from now on has to be read, or it would stop at a full pipe.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield f"redis://127.0.0.1:{port}/0"
        process.terminate()


@pytest.fixture(params=["filesystem", "redis"])
def worker(request, transactional_db, tmp_path):
    """A real Celery worker on this test's database: once on the file broker, once on Redis."""
    redis_url = request.getfixturevalue("redis_url") if request.param == "redis" else None
    with Worker(folder=Path(tmp_path), redis_url=redis_url) as worker:
        yield worker
