"""A game's history as a file: complete, without anything private, and replayed from it alone."""

import gzip
import io
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from ratings import history
from ratings.decay import apply_decay
from ratings.download import path_of, write_download
from ratings.models import (
    CorrectionReason,
    GameState,
    Match,
    Participation,
    Player,
    PlayerAlias,
    Rating,
    User,
)
from ratings.players import create_bot
from ratings.recording import record_matches
from ratings.replaying import UnusableDownload, replay_download
from ratings.roster import anonymise_player, change_owner, hide_player, rename_player, retire_player
from ratings.standings import Board, Kind
from ratings.systems.engine import engine
from tests.ratings.builders import (
    MONDAY,
    NOW,
    draw,
    duel,
    make_report,
    make_source,
    open_game,
    record,
    team,
    today,
)
from tests.worker import PROJECT_FOLDER, environment_of_subprocess

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path, settings):
    settings.DOWNLOADS_FOLDER = tmp_path / "downloads"
    return settings.DOWNLOADS_FOLDER


@pytest.fixture
def brisca():
    """A history with everything in it that a replay has to know."""
    game = open_game(idle_days=110)
    source = make_source("mesa-secreta")
    create_bot(handle="bot-trueno", name="Trueno", source=source)
    record(
        duel("ana", "pepa_4", today(1), external_id="secret-1"),
        draw("ana", "lola", today(1)),
        duel("lola", "bot-trueno", today(2), termination="friendly"),
        duel("pepa_4", "lola", today(3), termination="cancelled"),
        duel("bot-trueno", "ana", today(4), termination="abandoned"),
        make_report(
            [
                team("ana", "lola", place=1, points="7654321.25"),
                team("pepa_4", "bot-trueno", place=3),
            ],
            at=today(5),
        ),
        make_report([team(name, place=n) for n, name in enumerate("abcd", start=1)], at=today(6)),
        *[duel("hector-7", "ivo-8", today(7, minute)) for minute in range(22)],
        duel("old-1", "old-2", MONDAY - timedelta(days=55)),
        source=source,
    )
    account = User.objects.create(username="cuenta-privada", email="ana@example.org")
    for handle in ("ana", "bot-trueno"):
        change_owner(player=Player.objects.get(handle=handle), owner=account)
    record(
        duel("ana", "bot-trueno", today(8)),
        make_report([team("ana", "bot-trueno", place=1), team("lola", "a", place=2)], at=today(9)),
        duel("ana", "lola", today(10), external_id="void-1"),
        duel("pepa_4", "old-1", MONDAY - timedelta(days=54)),
        source=source,
    )
    [voided] = Match.objects.filter(external_id="void-1").values_list("pk", flat=True)
    history.void_matches(
        [voided], by=account, reason=CorrectionReason.FAIR_PLAY, note="nota privada"
    )
    rename_player(player=Player.objects.get(handle="ana"), name="Ana Nombre")
    retire_player(player=Player.objects.get(handle="b"))
    hide_player(player=Player.objects.get(handle="hector-7"))
    anonymise_player(player=Player.objects.get(handle="ivo-8"))
    apply_decay(MONDAY + timedelta(weeks=8), games=[game])
    assert history.verify(game).is_clean
    return game


def records(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def rewritten(path, change):
    """A file, not compressed, with a download's lines after a change to the list of them."""
    lines = records(path)
    change(lines)
    changed = path.with_name("changed.jsonl")
    changed.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return changed


def replay(path):
    """(standard output, the message that it failed with or None) of the command."""
    out = io.StringIO()
    try:
        call_command("replay_download", str(path), stdout=out, stderr=io.StringIO())
    except CommandError as failure:
        return out.getvalue(), str(failure)
    return out.getvalue(), None


def test_replay_of_the_file_alone_comes_to_everything_stored(brisca, folder):
    path = write_download(brisca)

    replayed = replay_download(path)

    assert replayed.differences == []
    header = replayed.header
    state = GameState.objects.get(game=brisca)
    assert (header.game, header.version, header.engine) == ("brisca", state.version, engine())
    assert (header.decayed_to, header.idle_days) == (state.decayed_to, 110)
    assert header.matches == Match.objects.count() == 34
    assert header.players == Player.objects.count() == 12
    rows = Board(brisca).page(1).rows
    assert [(row.rank, row.handle, row.elo) for row in replayed.board] == [
        (row.rank, row.rating.player.handle, row.rating.elo) for row in rows
    ]
    assert [row.openskill for row in replayed.board] == [row.rating.openskill for row in rows]
    assert len(rows) == 8


def test_file_lies_where_the_site_looks_and_all_may_read_it(brisca, folder):
    path = write_download(brisca)

    assert path == path_of(brisca) == folder / "brisca.jsonl.gz"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(folder.iterdir()) == [path]


def test_file_says_every_rule(brisca, folder):
    [header, *_rest] = records(write_download(brisca))

    assert header["rules"] == {
        "elo": {"start": 1200.0, "k": 32.0, "scale": 400.0},
        "openskill": {
            "mu": 25.0,
            "sigma": 25 / 3,
            "beta": 25 / 6,
            "kappa": 1e-4,
            "tau": 0.3,
            "team": "mean",
            "limit_sigma": True,
            "cap_sigma": True,
        },
        "displayed": {"start": 1500.0, "scale": 24.0, "sigmas": 3.0},
        "decay": {"grace_days": 30, "weekly_step": 0.26 * 7 / 30},
        "pair_limit": {"matches": 20, "hours": 24},
    }


def test_players_line_holds_every_stored_number(brisca, folder):
    lines = records(write_download(brisca))

    players = {line["handle"]: line for line in lines if "handle" in line}
    rating = Rating.objects.get(player__handle="bot-trueno")
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert players["bot-trueno"] == {
        "player": 1,
        "kind": "bot",
        "handle": "bot-trueno",
        "rating": {
            "elo": rating.elo,
            "mu": rating.mu,
            "sigma_settled": rating.sigma_settled,
            "sigma": rating.sigma,
            "won": rating.won,
            "drawn": 0,
            "lost": rating.lost,
            "peak_elo": rating.peak_elo,
            "peak_at": (rating.peak_at - epoch) // timedelta(microseconds=1),
            "last_played_at": (rating.last_played_at - epoch) // timedelta(microseconds=1),
            "listed": True,
            "ranks": {
                system: {
                    "all": Board(brisca, system).standing(rating).rank,
                    "kind": Board(brisca, system, Kind.BOTS).standing(rating).rank,
                }
                for system in ("elo", "openskill")
            },
        },
    }
    assert rating.sigma > rating.sigma_settled
    assert players["b"]["rating"]["listed"] is False
    assert players["old-2"]["rating"]["listed"] is False
    assert players["ana"]["rating"]["ranks"]["elo"]["kind"] == 1


def test_nothing_private_is_in_the_file(brisca, folder):
    text = gzip.decompress(write_download(brisca).read_bytes()).decode()

    private = [
        "hector",
        "ivo-8",
        "deleted",
        "Nombre",
        "Trueno",
        "mesa",
        "secret",
        "privada",
        "7654321",
    ]
    private += ["example.org", "fair_play"]
    assert [word for word in private if word in text] == []
    unnamed = [line for line in records(path_of(brisca)) if "player" in line]
    assert sorted(line["player"] for line in unnamed if "handle" not in line) == [7, 8]


def test_owners_are_told_only_where_two_opponents_share_one_and_as_numbers_of_the_match(
    brisca, folder
):
    lines = records(write_download(brisca))

    with_owners = [line["teams"] for line in lines if "owners" in json.dumps(line.get("teams"))]
    assert with_owners == [
        [
            {"place": 1, "players": [3], "owners": [1]},
            {"place": 2, "players": [1], "owners": [1]},
        ]
    ]
    assert Participation.objects.filter(owner__isnull=False).count() == 5


def test_facts_are_told_and_what_is_derived_is_not(brisca, folder):
    lines = records(write_download(brisca))

    facts = [line.get("fact") for line in lines if "match" in line]
    assert sorted(filter(None, facts)) == ["cancelled", "friendly", "void"]
    reasons = Match.objects.filter(status="unrated").values_list("reason", flat=True)
    assert sorted(reasons) == ["cancelled", "friendly", "pair_limit", "pair_limit", "same_owner"]


def test_matches_that_wait_are_not_in_history_yet(brisca, folder):
    [waiting] = record_matches(
        [duel("newcomer", "pepa_4", MONDAY - timedelta(days=90))],
        source=make_source(),
        at=NOW,
    )
    Match.objects.filter(pk=waiting.match_id).update(status="waiting")
    GameState.objects.update(version=1)
    Participation.objects.filter(match=waiting.match_id).update(
        elo_before=None,
        mu_before=None,
        sigma_before=None,
        elo_after=None,
        mu_after=None,
        sigma_after=None,
    )
    history.rerate_whole_game("brisca")

    replayed = replay_download(write_download(brisca))

    assert replayed.differences == []
    assert (replayed.header.matches, replayed.header.players) == (34, 12)


def test_game_without_matches_is_a_file_too(folder):
    out, failure = replay(write_download(open_game("tute")))

    assert out == (
        "tute, version 0: 0 matches and 0 players replayed.\nEverything agrees to 1e-06.\n"
    )
    assert failure is None


def test_same_history_makes_the_same_file(brisca, folder):
    first = write_download(brisca).read_bytes()

    assert write_download(brisca).read_bytes() == first


class Stopped(Exception):
    pass


def stop():
    raise Stopped


def test_writing_that_fails_leaves_the_old_file_and_nothing_else(brisca, folder):
    old = write_download(brisca).read_bytes()

    with pytest.raises(Stopped):
        write_download(brisca, on_match=stop)

    assert [path.name for path in folder.iterdir()] == ["brisca.jsonl.gz"]
    assert path_of(brisca).read_bytes() == old


def test_what_a_killed_process_left_is_removed_a_day_later(brisca, folder):
    folder.mkdir()
    old = folder / "brisca.jsonl.gz.x1.unfinished"
    young = folder / "brisca.jsonl.gz.x2.unfinished"
    others = folder / "tute.jsonl.gz.x3.unfinished"
    for path in (old, young, others):
        path.write_bytes(b"")
    yesterday = time.time() - 25 * 3600
    os.utime(old, (yesterday, yesterday))
    os.utime(others, (yesterday, yesterday))

    write_download(brisca)

    assert {path.name for path in folder.iterdir()} == {
        "brisca.jsonl.gz",
        young.name,
        others.name,
    }


@pytest.mark.django_db(transaction=True)
def test_file_is_of_one_moment_however_much_happens_meanwhile(brisca, folder):
    source = PlayerAlias.objects.first().source
    version = GameState.objects.get(game=brisca).version

    def report():
        record(duel("ana", "newcomer", today(11)), duel("a", "b", today(0)), source=source)
        connection.close()

    def once():
        if not Match.objects.filter(players__contains=[newest + 1]).exists() and not done:
            done.append(1)
            thread = Thread(target=report)
            thread.start()
            thread.join()

    done = []
    newest = Player.objects.latest("pk").pk
    path = write_download(brisca, on_match=once)

    replayed = replay_download(path)
    assert replayed.differences == []
    assert replayed.header.version == version
    assert GameState.objects.get(game=brisca).version == version + 1
    assert replay_download(write_download(brisca)).header.players == 13


# Replaying


def test_command_prints_the_board_and_agrees(brisca, folder):
    out, failure = replay(write_download(brisca))

    lines = out.splitlines()
    [first, *_rest] = Board(brisca).page(1).rows
    assert lines[0] == (
        f"brisca, version {brisca.state.version}: 34 matches and 12 players replayed."
    )
    assert lines[1].split() == [
        "1",
        first.rating.player.handle,
        "Elo",
        f"{first.rating.elo:.1f}",
        "OpenSkill",
        f"{first.rating.openskill:.1f}",
    ]
    assert lines[-1] == "Everything agrees to 1e-06."
    assert failure is None


def a_match(lines):
    return next(line for line in lines if "match" in line)


def a_player(lines, handle="ana"):
    return next(line for line in lines if line.get("handle") == handle)


@pytest.mark.parametrize(
    ("field", "by", "differs"),
    [
        ("elo", 2e-6, True),
        ("elo", 5e-7, False),
        ("mu", -2e-6, True),
        ("mu", 5e-7, False),
        ("sigma_settled", 2e-6, True),
        ("sigma", 2e-6, True),
        ("sigma", -5e-7, False),
        ("peak_elo", 2e-6, True),
        ("won", 1, True),
        ("drawn", 1, True),
        ("lost", 1, True),
        ("last_played_at", 1, True),
    ],
)
def test_number_that_does_not_follow_from_the_matches_is_named(brisca, folder, field, by, differs):
    def change(lines):
        a_player(lines)["rating"][field] += by

    out, failure = replay(rewritten(write_download(brisca), change))

    if differs:
        assert f"  ana: {field} is " in out
        assert failure == "1 numbers differ by more than 1e-06 from the replay."
    else:
        assert failure is None


def test_match_that_was_changed_shows_in_all_who_follow_from_it(brisca, folder):
    def change(lines):
        teams = a_match(lines)["teams"]
        teams[0]["place"], teams[1]["place"] = teams[1]["place"], teams[0]["place"]

    out, failure = replay(rewritten(write_download(brisca), change))

    assert "  old-1: elo is 1" in out
    assert failure.endswith("from the replay.")


@pytest.mark.parametrize("kind", ["all", "kind"])
@pytest.mark.parametrize("system", ["elo", "openskill"])
def test_rank_that_does_not_follow_from_the_numbers_is_named(brisca, folder, system, kind):
    def change(lines):
        a_player(lines)["rating"]["ranks"][system][kind] += 1

    out, failure = replay(rewritten(write_download(brisca), change))

    where = "all" if kind == "all" else "people"
    assert f"  ana: rank by {system} among {where} is " in out
    assert failure.startswith("1 numbers differ")


def test_player_listed_after_too_long_an_absence_is_named(brisca, folder):
    def change(lines):
        rating = a_player(lines, "old-2")["rating"]
        rating["listed"] = True
        rating["ranks"] = a_player(lines)["rating"]["ranks"]

    out, failure = replay(rewritten(write_download(brisca), change))

    assert "  old-2: is on the board, and last played before 2026-05-13" in out
    assert failure


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: a_player(lines).pop("rating"), "ana: has no rating, and the replay gives"),
        (
            lambda lines: lines.append(
                a_player(lines) | {"player": lines[0]["players"], "handle": "nobody"}
            ),
            "nobody: has a rating, and the replay gives none",
        ),
    ],
    ids=["missing", "made up"],
)
def test_rating_that_should_or_should_not_be_is_named(brisca, folder, change, said):
    def changed(lines):
        if "nobody" in said:
            lines[0]["players"] += 1
        change(lines)

    out, failure = replay(rewritten(write_download(brisca), changed))

    assert said in out
    assert failure


def swap(lines, one, other):
    lines[one], lines[other] = lines[other], lines[one]


def put(field, value, where=a_match):
    def change(lines):
        where(lines)[field] = value

    return change


BAD = {
    "cut off": (lambda lines: lines.pop(), "the file ends here, and should not: it is cut off"),
    "a match missing": (lambda lines: lines.pop(3), '"match" has to be a whole number'),
    "more at the end": (
        lambda lines: lines.append({}),
        "the file should have ended before this line",
    ),
    "out of order": (lambda lines: swap(lines, 2, 3), "does not come after the one before it"),
    "twice": (lambda lines: lines.insert(2, lines[1]), "does not come after the one before it"),
    "players out of order": (
        lambda lines: swap(lines, -1, -2),
        "player 12 stands where player 11 should",
    ),
    "another rule": (
        lambda lines: lines[0]["rules"]["openskill"].update(tau=0.5),
        "it follows other rules, openskill tau is 0.5 and 0.3 in this program",
    ),
    "a rule more": (
        lambda lines: lines[0]["rules"].update(bonus={"\x1b": 1}),
        "its rules have another bonus than this program",
    ),
    "another format": (
        lambda lines: lines[0].update(format_version=2),
        "its format is 2, this program reads 1",
    ),
    "something else": (
        lambda lines: lines.pop(0),
        "this is not a download of Naiply's history",
    ),
    "no object": (lambda lines: swap_in(lines, 1, []), "a JSON object is needed here"),
    "not a number": (put("at", True), '"at" has to be a whole number'),
    "no moment": (put("at", 10**20), '"at" is 100000000000000000000, which is no moment'),
    "unknown fact": (put("fact", "\x1bx"), "\"fact\" is '\\x1bx', one of void, cancelled"),
    "one team": (put("teams", [{"place": 1, "players": [1]}]), "two teams or more"),
    "a stranger": (
        put("teams", [{"place": 1, "players": [1]}, {"place": 2, "players": [13]}]),
        "there is no player 13",
    ),
    "himself": (
        put("teams", [{"place": 1, "players": [1]}, {"place": 2, "players": [1]}]),
        "nobody plays twice",
    ),
    "place 0": (
        put("teams", [{"place": 0, "players": [1]}, {"place": 2, "players": [2]}]),
        "places start at 1",
    ),
    "too few owners": (
        put("teams", [{"place": 1, "players": [1], "owners": []}] * 2),
        "not one owner for each",
    ),
    "infinite": (
        lambda lines: a_player(lines)["rating"].update(elo=float("inf")),
        "this is not JSON",
    ),
    "huge": (
        lambda lines: a_player(lines)["rating"].update(elo=10**400),
        "is no number that a rating can have",
    ),
    "no rank": (
        lambda lines: a_player(lines)["rating"].pop("ranks"),
        '"ranks" has to be an object',
    ),
    "a handle to act on": (
        lambda lines: a_player(lines).update(handle="\x1b[2J"),
        '"handle" holds characters that cannot be shown',
    ),
    "neither": (lambda lines: a_player(lines).update(kind="dog"), "has to be person or bot"),
}


def swap_in(lines, index, value):
    lines[index] = value


@pytest.mark.parametrize("name", BAD)
def test_file_that_cannot_be_right_is_answered_in_one_line(brisca, folder, name):
    change, said = BAD[name]
    path = rewritten(write_download(brisca), change)

    out, failure = replay(path)

    assert out == ""
    assert said in failure
    assert failure.startswith(f"{path}: Line ")
    assert "\n" not in failure
    assert failure.isprintable()


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_compressed_file_that_was_cut_off_is_answered_in_one_line(brisca, folder, part):
    path = write_download(brisca)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])

    _out, failure = replay(path)

    assert failure.endswith(": the compressed file is damaged or cut off.")


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", b"hello\n", b"[" * 60_000, b"\xff\xfe\n", b"x" * 70_000, b"null\n"],
    ids=["empty", "gzip", "text", "deep", "bytes", "long", "null"],
)
def test_other_file_is_answered_in_one_line(tmp_path, content):
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)

    out, failure = replay(path)

    assert out == ""
    assert failure.startswith(f"{path}: Line 1: ")
    assert "\n" not in failure


def test_file_that_is_not_there_is_answered_in_one_line(tmp_path):
    path = tmp_path / "nowhere.gz"

    assert replay(path) == ("", f"{path}: cannot be read (No such file or directory).")


def test_unusable_file_is_an_error_of_its_own(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")

    with pytest.raises(UnusableDownload, match="cut off"):
        replay_download(path)


def test_replaying_needs_neither_django_nor_a_database(brisca, folder, tmp_path):
    path = write_download(brisca)
    program = (
        "import sys, pathlib; from ratings.replaying import replay_download;"
        "r = replay_download(pathlib.Path(sys.argv[1]));"
        "print(r.count, [m for m in ('django', 'psycopg') if m in sys.modules])"
    )
    environment = environment_of_subprocess(tmp_path)
    alone = subprocess.run(
        [sys.executable, "-c", program, path],
        cwd=PROJECT_FOLDER, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    del environment["DATABASE_URL"]
    command = subprocess.run(
        [sys.executable, "manage.py", "replay_download", path],
        cwd=PROJECT_FOLDER, env=environment | {"NAIPLY_LOCAL_FOLDER": str(tmp_path / "new")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (alone.stdout, alone.stderr, alone.returncode) == ("0 []\n", "", 0)
    assert (command.stderr, command.returncode) == ("", 0)
    assert "Everything agrees" in command.stdout
    assert not (tmp_path / "new" / "postgresql").exists()


# Exporting


def test_export_writes_the_games_named_or_all(brisca, folder):
    out = io.StringIO()

    call_command("export_history", "brisca", stdout=out, stderr=io.StringIO())
    one = {path.name for path in folder.iterdir()}
    call_command("export_history", stdout=io.StringIO(), stderr=io.StringIO())

    path = folder / "brisca.jsonl.gz"
    assert out.getvalue() == f"{path}: {path.stat().st_size:,} bytes.\n"
    assert one == {"brisca.jsonl.gz"}
    assert len(list(folder.iterdir())) == 5


def test_export_goes_where_it_is_told(brisca, folder, tmp_path):
    call_command(
        "export_history", "brisca", "--folder", str(tmp_path / "x"), stdout=io.StringIO(),
        stderr=io.StringIO(),
    )  # fmt: skip

    assert [path.name for path in (tmp_path / "x").iterdir()] == ["brisca.jsonl.gz"]
    assert not folder.exists()


def test_export_that_cannot_write_says_so_in_one_line(brisca, tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("")

    with pytest.raises(CommandError) as failure:
        call_command(
            "export_history", "brisca", "--folder", str(occupied), stdout=io.StringIO(),
            stderr=io.StringIO(),
        )  # fmt: skip

    assert str(failure.value) == f"{occupied}: cannot be written (File exists)."
