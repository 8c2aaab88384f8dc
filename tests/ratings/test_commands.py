"""The commands as an operator sees them: arguments, output, exit codes, what they store."""

import io
import json
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper
from django.utils import translation

from ratings.management.progress import ProgressBar
from ratings.models import Game, GameState, Match, Player, Rating, Source
from ratings.systems.decay import current_monday
from tests.ratings.builders import (
    MONDAY,
    count_rows,
    duel,
    everything_of,
    make_source,
    open_game,
    record,
)
from tests.worker import PROJECT_FOLDER, environment_of_subprocess

SHARED = PROJECT_FOLDER.parent / "shared"


def run(command, *arguments):
    """(standard output, standard error, exit code) of a command."""
    out, error = io.StringIO(), io.StringIO()
    try:
        call_command(command, *map(str, arguments), stdout=out, stderr=error)
    except CommandError as failure:
        return out.getvalue(), error.getvalue() + f"{failure}\n", failure.returncode
    return out.getvalue(), error.getvalue(), 0


def line(external_id="m1", winner="ana", loser="pepa_4", **fields):
    teams = [{"players": [winner], "place": 1}, {"players": [loser], "place": 2}]
    usual = {"game": "brisca", "external_id": external_id, "played_at": "2026-07-06T19:30:00Z"}
    return json.dumps(usual | {"teams": teams} | fields) + "\n"


@pytest.fixture
def season(tmp_path):
    """A function that writes a file of results."""

    def write(*lines, name="season.jsonl"):
        path = tmp_path / name
        path.write_text("".join(lines), encoding="utf-8")
        return path

    return write


# import_results


@pytest.mark.django_db
def test_import_makes_the_source_and_says_what_it_did(season):
    path = season(line("m1"), line("m2"))

    out, error, code = run("import_results", path, "--source", "ifb", "--create-players")

    assert out == (
        f"{path}: 2 new, 0 repeated, 0 in conflict, 0 refused.\n"
        'The source "ifb" was new and has been made.\n'
    )
    assert (error, code) == ("", 0)
    assert not Source.objects.get(name="ifb").may_create_players
    assert set(Player.objects.values_list("handle", flat=True)) == {"ana", "pepa_4"}


@pytest.mark.django_db
def test_same_file_again_is_nothing_new(season):
    path = season(line("m1"), line("m2"))
    arguments = ("import_results", path, "--source", "ifb", "--create-players")
    run(*arguments)
    brisca = Game.objects.get(slug="brisca")
    before = (count_rows(), everything_of(brisca), brisca.state.version)

    out, error, code = run(*arguments)

    brisca = Game.objects.get(slug="brisca")
    assert out == f"{path}: 0 new, 2 repeated, 0 in conflict, 0 refused.\n"
    assert (error, code) == ("", 0)
    assert (count_rows(), everything_of(brisca), brisca.state.version) == before


@pytest.mark.django_db
def test_players_are_made_only_where_asked_for_or_where_the_source_may(season):
    path = season(line("m1"))
    make_source("mesa-1", may_create_players=True)

    refused = run("import_results", path, "--source", "ifb")
    made = run("import_results", path, "--source", "mesa-1")

    assert refused == (
        f"{path}: 0 new, 0 repeated, 0 in conflict, 1 refused. Nothing of it was stored.\n",
        f'{path}, line 1: Player "ana" is not known.\n'
        f'{path}, line 1: Player "pepa_4" is not known.\n'
        "1 of 1 files had something refused or in conflict.\n",
        1,
    )
    assert made[2] == 0
    assert Match.objects.get().source.name == "mesa-1"


@pytest.mark.django_db
def test_new_source_that_reported_nothing_is_not_kept(season):
    path = season("{\n")
    rows = count_rows()

    _out, _error, code = run("import_results", path, "--source", "ifb")

    assert code == 1
    assert count_rows() == rows


@pytest.mark.django_db
def test_bad_lines_are_named_and_the_file_is_left_out_but_not_the_others(season):
    bad = season(line("m1"), "{\n", line("m3", game="mus"), name="bad.jsonl")
    good = season(line("m4"), name="good.jsonl")

    out, error, code = run("import_results", bad, good, "--source", "ifb", "--create-players")

    assert out == (
        f"{bad}: 1 new, 0 repeated, 0 in conflict, 2 refused. Nothing of it was stored.\n"
        f"{good}: 1 new, 0 repeated, 0 in conflict, 0 refused.\n"
        'The source "ifb" was new and has been made.\n'
    )
    assert error.splitlines() == [
        f"{bad}, line 2: This is not JSON: Expecting property name enclosed in double quotes "
        "at character 3.",
        f'{bad}, line 3: Unknown game "mus": one of brisca, tute, cinquillo, tute-subastado, '
        "siete-y-media is needed.",
        "1 of 2 files had something refused or in conflict.",
    ]
    assert code == 1
    assert [match.external_id for match in Match.objects.all()] == ["m4"]


@pytest.mark.django_db
def test_keep_going_stores_the_good_lines_and_still_fails(season):
    path = season(line("m1"), "{\n", line("m3"))

    out, _error, code = run(
        "import_results", path, "--source", "ifb", "--create-players", "--keep-going"
    )

    assert out.splitlines()[0] == f"{path}: 2 new, 0 repeated, 0 in conflict, 1 refused."
    assert code == 1
    assert Match.objects.count() == 2


@pytest.mark.django_db
def test_conflict_is_named_and_fails(season):
    run("import_results", season(line("m1")), "--source", "ifb", "--create-players")
    path = season(line("m1", "pepa_4", "ana"))

    out, error, code = run("import_results", path, "--source", "ifb")

    assert "0 new, 0 repeated, 1 in conflict, 0 refused." in out
    assert f"{path}, line 1: " in error
    assert code == 1


@pytest.mark.django_db
@pytest.mark.parametrize("keep_going", [(), ("--keep-going",)])
def test_dry_run_leaves_not_even_the_source(season, keep_going):
    path = season(line("m1"))
    rows = count_rows()

    out, error, code = run(
        "import_results", path, "--source", "ifb", "--create-players", "--dry-run", *keep_going
    )

    assert out.splitlines()[0] == (
        f"{path}: 1 new, 0 repeated, 0 in conflict, 0 refused. A dry run: nothing was stored."
    )
    assert (error, code) == ("", 0)
    assert count_rows() == rows


@pytest.mark.django_db
def test_only_the_first_fifty_problems_are_printed(season):
    path = season("{\n" * 1_100)

    _out, error, _code = run("import_results", path, "--source", "ifb")

    lines = error.splitlines()
    assert len([text for text in lines if ", line " in text]) == 50
    assert lines[-2] == f"{path}: and 1,050 more."


@pytest.mark.django_db
def test_file_that_cannot_be_read_is_named_and_the_others_are_imported(season, tmp_path):
    pdf = tmp_path / "season.pdf"
    pdf.write_bytes(b"%PDF-1.7\n")
    good = season(line("m1"))

    out, error, code = run(
        "import_results", tmp_path / "nope.csv", tmp_path, pdf, good,
        "--source", "ifb", "--create-players",
    )  # fmt: skip

    assert error.splitlines() == [
        f"{tmp_path / 'nope.csv'}: cannot be read (No such file or directory).",
        f"{tmp_path}: cannot be read (Is a directory).",
        f"{pdf}: This is a PDF document: a CSV or JSONL file is needed.",
        "3 of 4 files had something refused or in conflict.",
    ]
    assert out.splitlines()[0] == f"{good}: 1 new, 0 repeated, 0 in conflict, 0 refused."
    assert code == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("demo", 'The source "demo" is the demo\'s own: choose another name.'),
        (
            "my server",
            'The source "my server": Enter a valid “slug” consisting of letters, numbers, '
            "underscores or hyphens.",
        ),
        ("", 'The source "": This field cannot be blank.'),
        ("gone", 'The source "gone" is not active: switch it on in the admin first.'),
    ],
)
def test_source_that_may_not_be_used_is_refused(season, name, sentence):
    Source.objects.create(name="gone", is_active=False)
    rows = count_rows()

    result = run("import_results", season(line()), "--source", name, "--create-players")

    assert result == ("", f"{sentence}\n", 1)
    assert count_rows() == rows


@pytest.mark.django_db
def test_terminal_speaks_one_language(season):
    path = season("\n")

    with translation.override("es"):
        result = run("import_results", path, "--source", "ifb")

    assert result[1].splitlines()[0] == f"{path}: The file is empty."


@pytest.mark.django_db(transaction=True)
def test_exit_code_of_the_process_tells_what_happened(season, tmp_path):
    good = season(line("m1"), name="good.jsonl")
    bad = season("{\n", name="bad.jsonl")

    def process(*arguments):
        return subprocess.run(
            [sys.executable, "manage.py", "import_results", *map(str, arguments)],
            cwd=PROJECT_FOLDER,
            env=environment_of_subprocess(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )

    done = process(good, "--source", "ifb", "--create-players")
    failed = process(bad, "--source", "ifb")
    misused = process(good)

    assert (done.returncode, done.stderr) == (0, "")
    assert failed.returncode == 1
    assert "CommandError: 1 of 1 files" in failed.stderr
    assert misused.returncode == 2
    assert "the following arguments are required: --source" in misused.stderr
    assert Match.objects.count() == 1


# Real results


@pytest.mark.django_db
@pytest.mark.skipif(not SHARED.is_dir(), reason="the files of real results are not in ../shared")
def test_real_results_come_to_the_reference_table():
    """46,182 football and 5,477 speedway results, as if they were card games."""
    Game.objects.update(idle_days=None)
    files = (SHARED / "data" / "football.jsonl", SHARED / "data" / "speedway.jsonl")
    cases = json.loads((SHARED / "cases" / "rating_vectors.json").read_text())["cases"]
    [expected] = [case["expected"] for case in cases if case["id"] == "real-football"]

    out, error, code = run("import_results", *files, "--source", "ifb", "--create-players")

    assert [text.partition(": ")[2] for text in out.splitlines()[:2]] == [
        "46,182 new, 0 repeated, 0 in conflict, 0 refused.",
        "5,477 new, 0 repeated, 0 in conflict, 0 refused.",
    ]
    assert code == 0, error
    ratings = Rating.objects.filter(game__slug="brisca", is_listed=True).select_related("player")
    by_handle = {rating.player.handle: rating for rating in ratings}
    assert by_handle.keys() == expected.keys()
    for handle, numbers in expected.items():
        rating = by_handle[handle]
        assert rating.matches == numbers["matches"]
        assert (rating.elo, rating.mu, rating.sigma_settled) == pytest.approx(
            (numbers["elo"], numbers["mu"], numbers["sigma"]), rel=0, abs=1e-6
        )
    assert run("verify_ratings")[2] == 0


# verify_ratings


@pytest.fixture
def brisca(db):
    game = open_game()
    record(duel("ana", "pepa_4"), duel("lola", "ana"), source=make_source())
    return game


def test_verify_says_that_all_agrees(brisca):
    out, _error, code = run("verify_ratings")

    assert out.splitlines() == [
        "brisca: 2 matches and 3 players replayed, every bit agrees.",
        "tute: 0 matches and 0 players replayed, every bit agrees.",
        "cinquillo: 0 matches and 0 players replayed, every bit agrees.",
        "tute-subastado: 0 matches and 0 players replayed, every bit agrees.",
        "siete-y-media: 0 matches and 0 players replayed, every bit agrees.",
    ]
    assert code == 0


def test_verify_names_the_first_differences_and_fails(brisca):
    Rating.objects.filter(player__handle="ana").update(won=7)

    out, error, code = run("verify_ratings", "--game", "tute", "brisca")

    player = Player.objects.get(handle="ana").pk
    assert out.splitlines() == [
        "brisca: 2 matches and 3 players replayed, 1 differences:",
        f"  rating of player {player}: won is 7, the replay gives 1",
        "tute: 0 matches and 0 players replayed, every bit agrees.",
    ]
    assert error.endswith("1 stored numbers differ from the replay of the history.\n")
    assert code == 1


def test_verify_counts_the_differences_that_it_does_not_print(brisca):
    source = Source.objects.get()
    record(*[duel(f"p{n}", f"q{n}") for n in range(20)], source=source)
    Rating.objects.update(lost=7)

    out, _error, code = run("verify_ratings", "--game", "brisca")

    lines = out.splitlines()
    assert (len(lines), lines[-1]) == (22, "  and 23 more")
    assert code == 1


def test_verify_says_where_another_machine_computed_the_numbers(brisca):
    GameState.objects.filter(game=brisca).update(engine="1-000000000000")

    out, _error, code = run("verify_ratings", "--game", "brisca")

    assert "all agrees to 1e-9" in out
    assert code == 0


@pytest.mark.django_db
def test_unknown_game_is_refused():
    assert run("verify_ratings", "--game", "brisca", "mus") == (
        "",
        'Unknown game "mus": one of brisca, tute, cinquillo, tute-subastado, siete-y-media '
        "is needed.\n",
        1,
    )


# decay_sigma


def test_decay_grows_once(brisca):
    sigma = Rating.objects.get(player__handle="ana").sigma
    at = "2026-08-17T12:00:00+02:00"  # 6 weeks later: the first Monday after 30 days

    first = run("decay_sigma", "--at", at)
    after = Rating.objects.get(player__handle="ana").sigma
    again = run("decay_sigma", "--at", at)

    assert first[0] == "3 ratings changed; all games are at 2026-08-17 00:00 UTC or later.\n"
    assert after == pytest.approx(sigma + 2 * 0.26 * 7 / 30, abs=1e-12)
    assert again[0] == "0 ratings changed; all games are at 2026-08-17 00:00 UTC or later.\n"
    assert Rating.objects.get(player__handle="ana").sigma == after
    assert first[2] == again[2] == 0


def test_decay_without_a_moment_is_as_of_now(brisca):
    out, _error, _code = run("decay_sigma")

    assert f"{current_monday():%Y-%m-%d} 00:00 UTC" in out
    brisca.state.refresh_from_db()
    assert brisca.state.decayed_to == current_monday()


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        ("2026-08-17T12:00:00", "it needs an offset, such as Z or +02:00."),
        ("2026-08-17", "it needs an offset, such as Z or +02:00."),
        ("17/08/2026", "write a moment such as 2026-11-29T18:00:00Z."),
        ("", "write a moment such as 2026-11-29T18:00:00Z."),
        ("9999-12-31T23:59:59Z", "it is in the future, and decay only grows."),
    ],
)
def test_decay_at_no_past_moment_is_refused(brisca, at, sentence):
    result = run("decay_sigma", "--at", at)

    brisca.state.refresh_from_db()
    assert result == ("", f'Unexpected --at "{at}": {sentence}\n', 1)
    assert brisca.state.decayed_to == MONDAY


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_on_a_terminal_is_drawn_and_taken_away():
    screen = Terminal()

    with ProgressBar("Importing", OutputWrapper(screen)) as bar:
        bar(1, 4)
        bar(4, 4)
        drawn = screen.getvalue()

    assert drawn.split("\r\x1b[K")[1:] == [
        "Importing [########......................]  25%",
        "Importing [##############################] 100%",
    ]
    assert screen.getvalue() == drawn + "\r\x1b[K"


def test_elsewhere_a_plain_line_comes_now_and_then():
    log = io.StringIO()

    with ProgressBar("Importing", OutputWrapper(log)) as bar:
        bar(1, 4)
        bar.last_line_at -= 11
        bar(2, 4)
        bar(3, 4)

    assert log.getvalue() == "Importing: 50%\n"


def test_nothing_to_do_is_all_done():
    screen = Terminal()

    with ProgressBar("Importing", OutputWrapper(screen)) as bar:
        bar(0, 0)

    assert "100%" in screen.getvalue()
