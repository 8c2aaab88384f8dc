"""The commands that put history right, as an operator sees them."""

import io

import pytest
from django.core.management import CommandError, call_command

from ratings import history
from ratings.management.commands import void_matches
from ratings.models import (
    Correction,
    Game,
    GameState,
    Match,
    Player,
    Rating,
    Source,
    User,
    VerifyRun,
)
from ratings.recording import Answer, record_matches
from ratings.roster import rename_player
from tests.ratings.builders import (
    NOW,
    count_rows,
    draw,
    duel,
    everything_of,
    make_source,
    open_game,
    record,
    today,
)
from tests.ratings.connections import elsewhere, held

pytestmark = pytest.mark.django_db


def run(command, *arguments):
    """(standard output, the message that it failed with or None) of a command."""
    out = io.StringIO()
    try:
        call_command(command, *map(str, arguments), stdout=out, stderr=io.StringIO())
    except CommandError as failure:
        return out.getvalue(), str(failure)
    return out.getvalue(), None


@pytest.fixture
def brisca():
    game = open_game()
    record(
        duel("ana", "pepa_4", today(1), external_id="m1"),
        duel("ana", "lola", today(2), external_id="m2"),
        draw("pepa_4", "lola", today(3), external_id="m3"),
        source=make_source(),
    )
    return game


@pytest.fixture
def forged(brisca):
    """Two matches of another source between the honest ones, one of a newcomer."""
    open_game("tute")
    record(
        duel("ana", "tramposo", today(1, 30), external_id="f1"),
        duel("ana", "tramposo", today(2, 30), external_id="f2"),
        duel("ana", "tramposo", today(2, 30), external_id="f3", game="tute"),
        source=make_source("mesa-falsa"),
    )
    return Source.objects.get(name="mesa-falsa")


def match(external_id):
    return Match.objects.get(external_id=external_id)


def statuses():
    return dict(Match.objects.values_list("external_id", "status"))


def answer(monkeypatch, *answers, meanwhile=lambda: None):
    """Lets an operator answer; `meanwhile` happens before the first answer is given."""
    left = list(answers)
    asked = []

    def ask(question):
        if not asked:
            meanwhile()
        asked.append(question)
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr("builtins.input", ask)
    return asked


# void_matches


def test_dry_run_shows_the_preview_and_changes_nothing(brisca):
    before = (everything_of(brisca), count_rows(), GameState.objects.get(game=brisca).version)

    out, failure = run("void_matches", match("m1").pk, "--dry-run")

    elo = {handle: row["elo"] for handle, row in before[0][0].items()}
    lines = out.splitlines()
    assert failure is None
    assert lines[0] == "brisca: 1 matches change, 2 others are rated again, 3 players move."
    assert lines[1].startswith(f"  ana: Elo {elo['ana']:.1f} -> 1216.0 (-")
    assert {line.split(":")[0] for line in lines[1:4]} == {"  ana", "  pepa_4", "  lola"}
    assert lines[4:6] == [
        "  First ten by Elo before: ana, lola, pepa_4",
        "  First ten by Elo after: ana, pepa_4, lola",
    ]
    assert lines[-1] == "A dry run: nothing was changed."
    assert (everything_of(brisca), count_rows(), GameState.objects.get(game=brisca).version) == (
        before
    )


def test_confirmed_void_is_carried_out_with_its_reason_and_note(brisca, monkeypatch):
    staff = User.objects.create(username="mesa-central")
    asked = answer(monkeypatch, "y")

    out, failure = run(
        "void_matches", match("m1").pk, match("m2").pk, "--reason", "fair_play",
        "--note", "seen twice", "--by", "mesa-central",
    )  # fmt: skip

    assert failure is None
    assert asked == ["Void them? [y/N] "]
    assert out.splitlines()[-1] == "brisca: done, 1 matches rated again."
    assert statuses() == {"m1": "void", "m2": "void", "m3": "rated"}
    correction = Correction.objects.get()
    assert (correction.kind, correction.reason, correction.note) == (
        "void",
        "fair_play",
        "seen twice",
    )
    assert correction.made_by == staff
    assert history.verify(brisca).is_clean


def test_void_and_restore_come_to_the_same_bytes(brisca):
    before = everything_of(brisca)
    number = match("m1").pk

    run("void_matches", number, "--reason", "mistake", "--yes")
    assert everything_of(brisca) != before
    out, failure = run("void_matches", number, "--restore", "--reason", "mistake", "--yes")

    assert failure is None
    assert out.splitlines()[-1] == "brisca: done, 2 matches rated again."
    assert everything_of(brisca) == before


@pytest.mark.parametrize("answers", [[], ["n"], [""], ["maybe"]], ids=str)
def test_what_is_not_confirmed_is_not_done(brisca, monkeypatch, answers):
    before = everything_of(brisca)
    answer(monkeypatch, *answers)

    _out, failure = run("void_matches", match("m1").pk, "--reason", "forged")

    assert failure == "Not confirmed: nothing was changed. --yes goes without asking."
    assert everything_of(brisca) == before


def test_match_void_already_is_nothing_to_change(brisca, monkeypatch):
    run("void_matches", match("m1").pk, "--reason", "forged", "--yes")
    asked = answer(monkeypatch)

    out, failure = run("void_matches", match("m1").pk, "--reason", "forged")

    assert out == "brisca: 0 matches change, 0 others are rated again, 0 players move.\n"
    assert (failure, asked) == (None, [])
    assert Correction.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_preview_that_is_out_of_date_is_shown_anew_and_asked_again(brisca, monkeypatch):
    source = Source.objects.get()

    def report():
        elsewhere(lambda: record(duel("ana", "newcomer", today(4)), source=source))

    asked = answer(monkeypatch, "y", "y", meanwhile=report)

    out, failure = run("void_matches", match("m1").pk, "--reason", "forged")

    lines = out.splitlines()
    moved = lines.index("History moved on meanwhile. As it is now:")
    assert lines[0] == "brisca: 1 matches change, 2 others are rated again, 3 players move."
    assert lines[moved + 1] == "brisca: 1 matches change, 3 others are rated again, 4 players move."
    assert len(asked) == 2
    assert lines[-1] == "brisca: done, 3 matches rated again."
    assert failure is None
    assert history.verify(brisca).is_clean


def test_quarantine_of_a_source_leaves_what_would_be_without_it(brisca):
    before = everything_of(brisca)
    source = make_source("mesa-falsa")
    record(
        duel("ana", "tramposo", today(1, 30), external_id="f1"),
        duel("tramposo", "ana", today(2, 30), external_id="f2"),
        source=source,
    )

    _out, failure = run("void_matches", "--source", "mesa-falsa", "--reason", "forged", "--yes")

    assert failure is None
    ratings, ledger, counts = everything_of(brisca)
    assert ratings == before[0]
    assert counts == before[2]
    assert {key: ledger[key] for key in before[1]} == before[1]
    assert history.verify(brisca).is_clean


@pytest.mark.parametrize(
    ("arguments", "voided"),
    [
        (["--source", "mesa-falsa"], ["f1", "f2", "f3"]),
        (["--source", "mesa-falsa", "--game", "brisca"], ["f1", "f2"]),
        (["--source", "mesa-falsa", "--since", "2026-07-06T02:30:00Z"], ["f2", "f3"]),
        (["--source", "mesa-falsa", "--until", "2026-07-06T04:30:00+02:00"], ["f1"]),
        (["--player", "lola"], ["m2", "m3"]),
        (["--player", "Lola", "--player", "pepa-antes"], ["m3"]),
        (["--player", "tramposo", "--player", "lola"], []),
    ],
    ids=str,
)
def test_matches_are_found_by_what_they_have_in_common(forged, arguments, voided):
    pepa = Player.objects.get(handle="pepa_4")
    rename_player(player=pepa, handle="pepa-antes")
    rename_player(player=pepa, handle="pepa-mus")

    _out, failure = run("void_matches", *arguments, "--reason", "forged", "--yes")

    assert failure is None
    assert {name for name, status in statuses().items() if status == "void"} == set(voided)
    assert all(history.verify(game).is_clean for game in Game.objects.all())


def test_restore_finds_the_void_matches_by_what_they_have_in_common(forged, brisca):
    before = [everything_of(game) for game in Game.objects.all()]
    run("void_matches", "--source", "mesa-falsa", "--reason", "forged", "--yes")
    run("void_matches", match("m1").pk, "--reason", "test_match", "--yes")

    run("void_matches", "--source", "mesa-falsa", "--restore", "--reason", "mistake", "--yes")

    assert {name for name, status in statuses().items() if status == "void"} == {"m1"}
    run("void_matches", match("m1").pk, "--restore", "--reason", "mistake", "--yes")
    assert [everything_of(game) for game in Game.objects.all()] == before


@pytest.mark.django_db(transaction=True)
def test_quarantine_catches_what_waits_too(forged):
    with held("brisca"):
        [waiting] = record_matches(
            [duel("ana", "tramposo", today(5), external_id="f4")],
            source=forged, at=NOW, may_wait=True,
        )  # fmt: skip
    assert waiting.answer == Answer.WAITING

    looked, _failure = run("void_matches", "--source", "mesa-falsa", "--dry-run")
    waits = statuses()["f4"]
    out, _failure = run("void_matches", "--source", "mesa-falsa", "--reason", "forged", "--yes")

    assert (looked.splitlines()[0][:8], waits) == ("brisca: ", "waiting")
    assert out.splitlines()[0] == "brisca: 1 waiting reports put into history."
    assert {statuses()[name] for name in ("f1", "f2", "f3", "f4")} == {"void"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1"], "--reason is missing: one of wrong_result, "),
        (["--dry-run"], "Name a source, a player or a period: this would be every match."),
        (["--game", "brisca", "--dry-run"], "Name a source, a player or a period"),
        (["99999999", "--dry-run"], "There is no match 99999999."),
        (["1", "--source", "mesa-1", "--dry-run"], "by their numbers or by what they share"),
        (["--source", "nobody", "--dry-run"], 'Unknown source "nobody"'),
        (["--player", "nobody", "--dry-run"], 'Unknown player "nobody"'),
        (["--player", "ana", "--game", "mus", "--dry-run"], 'Unknown game "mus": one of brisca'),
        (["--since", "yesterday", "--dry-run"], 'Unexpected --since "yesterday": write a moment'),
        (["--until", "2026-07-06", "--dry-run"], 'Unexpected --until "2026-07-06": it needs an'),
        (["1", "--reason", "forged", "--by", "nobody"], 'Unknown user "nobody"'),
    ],
    ids=str,
)
def test_what_cannot_be_understood_is_answered_in_one_line(brisca, arguments, message):
    out, failure = run("void_matches", *arguments)

    assert out == ""
    assert message in failure
    assert "\n" not in failure


def test_search_without_a_match_says_so(brisca):
    Player.objects.create(handle="nueva", handle_key="nueva", handle_skeleton="nueva", name="n")

    assert run("void_matches", "--player", "nueva", "--dry-run") == (
        "No such matches: nothing to change.\n",
        None,
    )


def test_newcomer_who_loses_his_only_match_is_shown_without_a_rating(forged):
    out, _failure = run("void_matches", "--source", "mesa-falsa", "--dry-run")

    assert "  tramposo: Elo 1184.0 -> none (+16.0)" in out.splitlines()
    assert "  First ten by Elo before: ana, " in out


@pytest.mark.parametrize(
    ("change", "shown"), [(-0.04, "+0.0"), (0.0, "+0.0"), (-0.06, "-0.1"), (12.34, "+12.3")]
)
def test_change_is_shown_with_its_sign_and_nothing_is_never_minus(change, shown):
    assert void_matches.signed(change) == shown


# rerate_game


def test_rerating_mends_what_was_damaged(brisca):
    before = everything_of(brisca)
    Rating.objects.filter(player__handle="ana").update(won=7, elo=1300, peak_elo=1300)

    out, failure = run("rerate_game", "brisca")

    assert (out, failure) == ("brisca: 3 matches rated again.\n", None)
    assert everything_of(brisca) == before
    assert history.verify(brisca).is_clean


def test_rerating_makes_the_numbers_those_of_this_machine(brisca):
    GameState.objects.filter(game=brisca).update(engine="1-000000000000")

    look, _failure = run("rerate_game", "brisca", "--dry-run")
    run("rerate_game", "brisca")

    assert "Another machine's mathematics library" in look
    assert history.verify(brisca).exact


def test_dry_rerating_says_what_would_be_mended_and_changes_nothing(brisca):
    Rating.objects.filter(player__handle="ana").update(won=7)
    version = GameState.objects.get(game=brisca).version

    out, failure = run("rerate_game", "brisca", "--dry-run")

    lines = out.splitlines()
    assert lines[0] == (
        "brisca: 3 matches would be rated again, and 1 stored numbers would change."
    )
    assert lines[1].endswith("won is 7, the replay gives 2")
    assert lines[-1] == "A dry run: nothing was changed."
    assert failure is None
    assert Rating.objects.get(player__handle="ana").won == 7
    assert GameState.objects.get(game=brisca).version == version
    assert not VerifyRun.objects.exists()


@pytest.mark.parametrize("command", ["rerate_game", "fold_waiting", "export_history"])
def test_game_that_does_not_exist_is_refused_with_those_that_do(command):
    assert run(command, "mus") == (
        "",
        'Unknown game "mus": one of brisca, tute, cinquillo, tute-subastado, siete-y-media is '
        "needed.",
    )


# fold_waiting


@pytest.mark.django_db(transaction=True)
def test_waiting_reports_of_the_games_named_are_put_into_history(brisca):
    open_game("tute")
    with held("brisca", "tute"):
        receipts = record_matches(
            [
                duel("ana", "lola", today(1, 30)),
                duel("ana", "lola", today(5)),
                duel("ana", "lola", today(5), game="tute"),
            ],
            source=Source.objects.get(), at=NOW, may_wait=True,
        )  # fmt: skip
    assert {receipt.answer for receipt in receipts} == {Answer.WAITING}

    one = run("fold_waiting", "brisca")
    rest = run("fold_waiting")

    assert one == ("brisca: 2 waiting reports put into history.\n", None)
    assert rest[0].splitlines()[:2] == [
        "brisca: 0 waiting reports put into history.",
        "tute: 1 waiting reports put into history.",
    ]
    assert not Match.objects.filter(status="waiting").exists()
    assert all(history.verify(game).is_clean for game in Game.objects.all())
