"""Reports that wait, how they are folded in, and re-rating from a snapshot meanwhile."""

import random
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread
from time import monotonic, sleep

import pytest
from django.db import connection, transaction

from ratings import history, ledger, recording
from ratings.decay import apply_decay
from ratings.history import Correct, CorrectTeam, Rewrite, rerating
from ratings.models import (
    Game,
    GameState,
    Match,
    Participation,
    Player,
    PlayerStatus,
    Rating,
    User,
)
from ratings.recording import Answer, Receipt, fold_waiting, record_matches
from ratings.snapshots import snapshot
from tests.ratings.builders import (
    MONDAY,
    NOW,
    draw,
    duel,
    everything_of,
    ledger_of,
    make_report,
    make_source,
    open_game,
    ratings_of,
    record,
    rows_of,
    team,
    today,
    undone,
)
from tests.ratings.connections import elsewhere, held
from tests.ratings.test_concurrency import answers, at_once
from tests.ratings.test_history import make_bots, season
from tests.worker import PROJECT_FOLDER, environment_of_subprocess

pytestmark = pytest.mark.django_db

SECONDS = 60
DAYS_AGO = [MONDAY - timedelta(days=days) for days in range(8)]


@pytest.fixture
def brisca():
    return open_game("brisca")


@pytest.fixture
def source(brisca):
    return make_source()


@pytest.fixture
def three(monkeypatch):
    """A report with more than three matches after it waits."""
    monkeypatch.setattr(recording, "MOST_RERATED", 3)


@pytest.fixture
def short(monkeypatch):
    """Nobody waits long for a lock."""
    monkeypatch.setattr(recording, "LOCK_SECONDS", 0.1)


def report(*reports, source, at=NOW) -> list[Receipt]:
    """Sends reports as a game server does."""
    return record_matches(reports, source=source, at=at, may_wait=True)


def put_aside(*reports, source, at=NOW) -> list[int]:
    """Stores reports as if the lock could not be had; their matches' ids."""
    recorder = recording._Recorder(source, at, None, True, True)
    with transaction.atomic():
        receipts = recorder.put_aside(reports)
    assert {receipt.answer for receipt in receipts} == {Answer.WAITING}
    return [receipt.match_id for receipt in receipts]


def waiting() -> set[str]:
    return set(Match.objects.filter(status="waiting").values_list("external_id", flat=True))


def version_of(game: Game) -> int:
    return GameState.objects.get(game=game).version


def assert_verified(*games):
    for game in games:
        assert history.verify(game).differences == []


def assert_true(game):
    """Verified, and with the very bytes that a re-rating of everything would write."""
    assert_verified(game)
    before = rows_of(game)
    with transaction.atomic():
        history.rerate_whole_game(game.slug)
        again = rows_of(game)
        transaction.set_rollback(True)
    assert again == before


# Too many matches after it


def test_limits_are_those_of_the_rules():
    assert (recording.LOCK_SECONDS, recording.MOST_RERATED) == (2, 2000)


def evening(source, count=6):
    """Matches at each full hour from 10."""
    record(
        *(duel("ana", "pepa", today(10 + n), external_id=f"m{n}") for n in range(count)),
        source=source,
    )


@pytest.mark.parametrize(
    ("at", "answer"),
    [
        (today(19), "recorded"),
        (today(12, 30), "recorded"),  # three after it
        (today(12), "recorded"),  # a moment after m2, by its id
        (today(11, 59, 59), "waiting"),
        (today(9), "waiting"),
    ],
)
def test_report_with_too_many_matches_after_it_waits(brisca, source, three, at, answer):
    evening(source)

    [receipt] = report(duel("ana", "pepa", at, external_id="new"), source=source)

    assert receipt.answer.value == answer
    assert ledger_of(brisca)["new"][0] == ("rated" if answer == "recorded" else "waiting")
    assert_verified(brisca)


def test_waiting_report_is_stored_outside_history(brisca, source, three):
    evening(source)
    before, rows, version = everything_of(brisca), rows_of(brisca), version_of(brisca)
    late = make_report(
        [team("ana", "lola", place=1, points="71"), team("pepa", "rita", place=2, points="49.5")],
        at=today(9),
        external_id="late",
        termination="abandoned",
    )

    [receipt] = report(late, source=source, at=today(19))

    match = Match.objects.get(external_id="late")
    assert receipt == Receipt(Answer.WAITING, match.pk)
    assert (match.status, match.reason, match.termination) == ("waiting", "", "abandoned")
    assert (match.played_at, match.received_at) == (today(9), today(19))
    parts = Participation.objects.filter(match=match).order_by("pk")
    assert [
        (p.player.handle, p.team, p.place, None if p.points is None else str(p.points))
        for p in parts
    ] == [("ana", 1, 1, "71.00"), ("lola", 1, 1, "71.00"), ("pepa", 2, 2, "49.50"),
          ("rita", 2, 2, "49.50")]  # fmt: skip
    assert {p.elo_before for p in parts} == {None}
    ratings, matches, counts = everything_of(brisca)
    assert matches.pop("late")[0] == "waiting"
    assert (ratings, matches, counts) == before
    assert rows_of(brisca)["Rating"] == rows["Rating"]
    assert version_of(brisca) == version
    assert_verified(brisca)


def test_verify_finds_a_waiting_match_with_numbers(brisca, source, three):
    """Outside history, the replay does not come by; but what a player had last is read from it."""
    evening(source)
    report(duel("nueva", "otra", today(9), external_id="late"), source=source)
    late = Match.objects.get(external_id="late")
    late.participations.update(**dict.fromkeys(ledger.SKILL_COLUMNS, 8.0))

    found = history.verify(brisca)

    assert found.differences == [f"match {late.pk}: its participations do not agree with it"]


def test_waiting_report_is_folded_in_as_if_it_had_been_in_time(brisca, source, three):
    late = [duel("pepa", "lola", today(9), external_id="late"), draw("ana", "lola", today(9, 30))]
    with undone():
        record(*late, source=source)
        evening(source)
        expected = everything_of(brisca)
    evening(source)
    assert answers(report(*late, source=source)) == {"waiting": 2}
    version = version_of(brisca)

    folded = fold_waiting(brisca)

    assert folded == 2
    assert everything_of(brisca) == expected
    assert version_of(brisca) == version + 1
    assert_true(brisca)
    assert fold_waiting(brisca) == 0
    assert version_of(brisca) == version + 1


def test_folding_a_game_where_nothing_waits_does_nothing(brisca, source):
    assert fold_waiting(brisca) == 0
    evening(source)
    before, version = rows_of(brisca), version_of(brisca)

    assert fold_waiting(brisca) == 0

    assert (rows_of(brisca), version_of(brisca)) == (before, version)


def test_folding_leaves_other_games_alone(brisca, source):
    tute = open_game("tute")
    for game in ("brisca", "tute"):
        put_aside(duel("ana", "pepa", external_id=game, game=game), source=source)

    assert fold_waiting(tute) == 1

    assert waiting() == {"brisca"}


def test_waiting_report_repeated_is_known_and_one_that_differs_conflicts(brisca, source, three):
    evening(source)
    late = duel("ana", "lola", today(9), external_id="late")
    [first] = report(late, source=source)
    rows = rows_of(brisca)

    [again] = report(late, source=source)
    [in_a_batch, other] = report(
        late, duel("lola", "ana", today(9), external_id="late"), source=source
    )
    [imported] = record_matches([late], source=source, at=NOW)

    assert again == in_a_batch == imported == Receipt(Answer.REPEATED, first.match_id)
    assert (other.answer, other.match_id) == (Answer.CONFLICT, first.match_id)
    assert other.problems == [
        'Another result is stored under the external_id "late": it differs in teams.'
    ]
    assert rows_of(brisca) == rows
    fold_waiting(brisca)
    assert report(late, source=source) == [Receipt(Answer.REPEATED, first.match_id)]
    assert ledger_of(brisca)["late"][0] == "rated"


def test_waiting_report_twice_in_a_batch_waits_once(brisca, source, three):
    evening(source)
    late = duel("ana", "lola", today(9), external_id="late")

    first, second = report(late, late, source=source)

    assert (first.answer, second.answer) == (Answer.WAITING, Answer.REPEATED)
    assert first.match_id == second.match_id
    assert fold_waiting(brisca) == 1


def test_players_first_seen_in_a_waiting_report_are_known_and_unrated(brisca, source, three):
    evening(source)

    report(duel("nueva", "otra", today(9)), source=source)

    assert set(ratings_of(brisca)) == {"ana", "pepa"}
    assert Player.objects.filter(handle__in=["nueva", "otra"]).count() == 2
    record(duel("nueva", "ana", today(18)), source=source)  # an import places what waits, too
    assert waiting() == set()
    assert Player.objects.filter(handle__in=["nueva", "otra"]).count() == 2
    assert ratings_of(brisca)["nueva"]["won"] == 2
    assert_true(brisca)


def test_batch_is_recorded_but_for_what_is_too_late(brisca, source, three):
    evening(source)
    batch = [
        duel("ana", "lola", today(16), external_id="new"),
        duel("ana", "lola", today(9), external_id="late"),
        duel("nobody", "nobody", today(17), external_id="wrong"),
        duel("lola", "ana", today(14, 30), external_id="a-bit-late"),
        duel("ana", "pepa", today(10), external_id="m0"),
    ]

    receipts = report(*batch, source=source)

    assert [receipt.answer.value for receipt in receipts] == [
        "recorded",
        "waiting",
        "refused",
        "recorded",
        "repeated",
    ]
    assert [len(receipt.changes) for receipt in receipts] == [2, 0, 0, 2, 0]
    assert waiting() == {"late"}
    assert_verified(brisca)
    fold_waiting(brisca)
    assert_true(brisca)


def test_batch_that_waits_as_a_whole_moves_no_version(brisca, source, three):
    evening(source)
    version = version_of(brisca)

    receipts = report(*(duel("ana", f"p{n}", today(9, n)) for n in range(5)), source=source)

    assert answers(receipts) == {"waiting": 5}
    assert version_of(brisca) == version


def test_report_without_a_wait_is_recorded_however_late_it_is(brisca, source, three):
    """As an import is."""
    evening(source)

    [receipt] = record_matches([duel("ana", "lola", today(1))], source=source, at=NOW)

    assert receipt.answer == Answer.RECORDED
    assert_true(brisca)


def test_later_report_folds_in_what_waits(brisca, source):
    reports = [
        duel("ana", "pepa", today(9), external_id="m1"),
        duel("pepa", "lola", today(10), external_id="w1"),
        duel("ana", "lola", today(11), external_id="m2"),
        duel("rita", "ana", today(12), external_id="w2"),
        duel("lola", "rita", today(13), external_id="m3"),
    ]
    with undone():
        record(*reports, source=source)
        expected = everything_of(brisca)
    record(reports[0], reports[2], source=source)
    put_aside(reports[1], reports[3], source=source)
    version = version_of(brisca)

    [receipt] = report(reports[4], source=source)

    assert receipt.answer == Answer.RECORDED
    assert everything_of(brisca) == expected
    assert version_of(brisca) == version + 1
    assert_true(brisca)


def test_later_report_leaves_what_is_too_late_to_the_fold(brisca, source, three):
    evening(source)
    put_aside(
        duel("ana", "lola", today(9), external_id="late"),
        duel("ana", "lola", today(15, 30), external_id="fresh"),
        source=source,
    )

    [receipt] = report(duel("rita", "ana", today(16)), source=source)

    assert receipt.answer == Answer.RECORDED
    assert waiting() == {"late"}
    assert_verified(brisca)
    assert fold_waiting(brisca) == 1
    assert_true(brisca)


def test_report_that_waits_itself_folds_in_what_is_not_too_late(brisca, source, three):
    evening(source)
    put_aside(duel("ana", "lola", today(15, 30), external_id="fresh"), source=source)

    [receipt] = report(duel("rita", "ana", today(9), external_id="late"), source=source)

    assert receipt.answer == Answer.WAITING
    assert waiting() == {"late"}
    assert_verified(brisca)


def test_waiting_report_keeps_its_owners_and_its_players_though_they_change(brisca, source, three):
    """What was accepted stays accepted, and same_owner is judged by the owners of that day."""
    make_bots(source)
    evening(source)
    report(
        duel("bot-1", "bot-2", today(9), external_id="own"),
        duel("bot-3", "bot-4", today(9), external_id="house"),
        source=source,
    )
    author = User.objects.get(username="author")
    Player.objects.filter(handle__in=["bot-1", "bot-2"]).update(owner=None)
    Player.objects.filter(handle__in=["bot-3", "bot-4"]).update(owner=author, status="frozen")

    assert fold_waiting(brisca) == 2

    matches = ledger_of(brisca)
    assert matches["own"][:2] == ("unrated", "same_owner")
    assert matches["house"][:2] == ("rated", "")
    assert not Rating.objects.filter(player__handle="bot-3", is_listed=True).exists()
    assert_true(brisca)


def test_report_that_is_wrong_is_refused_and_does_not_wait(brisca, source, three):
    evening(source)
    Player.objects.filter(handle="pepa").update(status=PlayerStatus.FROZEN)

    receipts = report(duel("ana", "pepa", today(9)), duel("ana", "ana", today(9)), source=source)

    assert answers(receipts) == {"refused": 2}
    assert waiting() == set()


@pytest.mark.parametrize("limit", [1, 5, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_season_with_waiting_and_folds_comes_to_the_same_bits(
    brisca, source, monkeypatch, seed, limit
):
    monkeypatch.setattr(recording, "MOST_RERATED", limit)
    make_bots(source)
    reports = season(seed)
    with undone():
        record(*reports, source=source)
        expected = everything_of(brisca)
    choice = random.Random(f"waiting {seed}")

    arriving = choice.sample(reports, len(reports))
    while arriving:
        size = choice.choice([1, 2, 5])
        send = choice.choice([report, report, report, put_aside])
        send(*arriving[:size], source=source)
        del arriving[:size]
        if choice.random() < 0.1:
            assert_verified(brisca)
        if choice.random() < 0.1:
            fold_waiting(brisca)
    fold_waiting(brisca)

    assert waiting() == set()
    assert everything_of(brisca) == expected
    assert_true(brisca)


# A lock that is somebody else's


@pytest.mark.django_db(transaction=True)
def test_report_waits_when_the_lock_is_not_to_be_had(short):
    brisca, tute, source = open_game("brisca"), open_game("tute"), make_source()
    evening(source)
    before, version = rows_of(brisca)["Rating"], version_of(brisca)
    new = [
        duel("ana", "nueva", today(16), external_id="w1"),
        duel("otra", "ana", today(17), external_id="w2", game="tute"),
        duel("ana", "ana", today(17), external_id="wrong"),
        duel("ana", "pepa", today(10), external_id="m0"),
    ]

    with held("brisca"):
        begin = monotonic()
        receipts = report(*new, source=source)
        took = monotonic() - begin
        again = report(*new, source=source)
        differing = report(duel("nueva", "ana", today(16), external_id="w1"), source=source)
        [free] = report(duel("ana", "pepa", external_id="t1", game="tute"), source=source)

    assert [it.answer.value for it in receipts] == ["waiting", "waiting", "refused", "repeated"]
    assert [it.answer.value for it in again] == ["repeated", "repeated", "refused", "repeated"]
    assert [it.match_id for it in again] == [it.match_id for it in receipts]
    assert [it.answer.value for it in differing] == ["conflict"]
    # The other game's lock was free; what waited with the batch went in with the next report.
    assert free.answer == Answer.RECORDED
    assert waiting() == {"w1"}
    assert took >= 0.1  # and not until the lock was free
    assert (rows_of(brisca)["Rating"], version_of(brisca)) == (before, version)
    assert fold_waiting(brisca) == 1
    assert_true(brisca)
    assert_true(tute)
    assert Player.objects.filter(handle="nueva").count() == 1


@pytest.mark.django_db(transaction=True)
def test_import_does_not_wait_outside_but_for_the_lock(short):
    brisca, source = open_game("brisca"), make_source()
    results = []

    with held("brisca"):
        writer = Thread(
            target=lambda: (
                results.extend(record_matches([duel("ana", "pepa")], source=source, at=NOW)),
                connection.close(),
            )
        )
        writer.start()
        writer.join(timeout=0.5)
        assert results == []
    writer.join(timeout=SECONDS)

    assert answers(results) == {"recorded": 1}
    assert_verified(brisca)


@pytest.mark.django_db(transaction=True)
def test_only_the_lock_is_waited_for_so_shortly(short, monkeypatch):
    """Once it is had, a player whom another game's writer makes may take longer."""
    open_game("brisca")
    source = make_source()
    seen = []

    def find_players(*args):
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            seen.extend(cursor.fetchone())
        return real(*args)

    real = recording.find_players
    monkeypatch.setattr(recording, "find_players", find_players)

    report(duel("ana", "pepa"), source=source)

    assert set(seen) == {"0"}


@pytest.mark.django_db(transaction=True)
def test_game_is_read_as_it_is_when_the_lock_is_had():
    """Whoever waited for somebody who changed the game's idle days goes by the new ones."""
    brisca, source = open_game("brisca", idle_days=None), make_source()
    record(duel("ana", "pepa", MONDAY - timedelta(days=90)), source=source)
    changed, done = Event(), Event()

    def change():
        with transaction.atomic():
            state = ledger.lock_games(["brisca"])["brisca"]
            Game.objects.filter(slug="brisca").update(idle_days=60)
            Rating.objects.filter(game=brisca).update(is_listed=False)
            ledger.recount(brisca)
            ledger.announce(state)
            changed.set()
            while not someone_waits_for_a_lock():
                sleep(0.01)
        done.set()

    def send():
        changed.wait(timeout=SECONDS)
        old = duel("ana", "lola", MONDAY - timedelta(days=89))
        return record_matches([old], source=source, at=NOW)

    at_once(change, send)

    assert done.is_set()
    assert not Rating.objects.filter(is_listed=True).exists()
    assert_verified(brisca)


def someone_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        [count] = cursor.fetchone()
    return count > 0


@pytest.mark.django_db(transaction=True)
def test_same_report_raced_to_wait_waits_once(short):
    brisca, source = open_game("brisca"), make_source()
    same = duel("ana", "pepa", today(10), external_id="same")

    with held("brisca"):
        results = at_once(*(lambda: report(same, source=source) for _ in range(6)))

    receipts = [receipt for [receipt] in results]
    assert answers(receipts) == {"waiting": 1, "repeated": 5}
    assert len({receipt.match_id for receipt in receipts}) == 1
    assert fold_waiting(brisca) == 1
    assert Player.objects.count() == 2
    assert_true(brisca)


@pytest.mark.django_db(transaction=True)
def test_same_report_stored_while_another_is_looked_up_is_repeated(monkeypatch):
    """Nobody holds a lock while a report is put aside, and its players are new to both writers."""
    open_game("brisca")
    source = make_source()
    same = duel("ana", "pepa", today(10), external_id="same")
    recorder = recording._Recorder(source, NOW, None, True, True)

    for number, look in enumerate(["find_players", "ledger.read_reports"]):
        where, _, name = look.rpartition(".")
        room = getattr(recording, where) if where else recording
        real = getattr(room, name)
        stored = []

        def looking(*args, real=real, stored=stored, same=same, **kwargs):
            found = real(*args, **kwargs)
            if not stored:
                stored.append(None)
                stored.extend(elsewhere(lambda: put_aside(same, source=source)))
            return found

        with monkeypatch.context() as hooked:
            hooked.setattr(room, name, looking)
            [receipt] = recording._try_again(lambda same=same: recorder.put_aside([same]))

        assert receipt == Receipt(Answer.REPEATED, stored[1])
        same = duel(f"ana-{number}", f"pepa-{number}", today(10), external_id=f"same-{number}")


@pytest.mark.django_db(transaction=True)
def test_same_id_raced_between_a_waiting_and_a_recorded_match_is_one_of_them(short):
    """In two games, one of whose locks is held: one writer stores it aside, one in history."""
    games, source = [open_game("brisca"), open_game("tute")], make_source()
    won = Counter()

    for attempt in range(6):
        jobs = [
            lambda slug=slug, id=f"m{attempt}", pause=pause: (
                sleep(pause),
                report(duel("ana", "pepa", external_id=id, game=slug), source=source),
            )[1]
            # The one who waits for a lock looks again a tenth of a second later.
            for slug, pause in (
                ("brisca", 0),
                ("tute", 0.1 if attempt % 2 else 0.09 + attempt / 100),
            )
        ]
        with held("brisca"):
            results = at_once(*jobs)

        [one], [other] = results
        assert {one.answer.value, other.answer.value} in (
            {"waiting", "conflict"},
            {"recorded", "conflict"},
        )
        assert one.match_id == other.match_id
        won[one.answer] += 1

    assert Match.objects.count() == 6
    for game in games:
        fold_waiting(game)
        assert_true(game)


@pytest.mark.django_db(transaction=True)
def test_report_that_waits_while_an_import_of_it_waits_for_the_lock_is_stored_once(short):
    brisca, source = open_game("brisca"), make_source()
    same = duel("ana", "pepa", today(10), external_id="same")
    imported = []

    with held("brisca"):
        importer = Thread(
            target=lambda: (
                imported.extend(record_matches([same], source=source, at=NOW)),
                connection.close(),
            )
        )
        importer.start()
        while not someone_waits_for_a_lock():
            sleep(0.01)
        [receipt] = report(same, source=source)
    importer.join(timeout=SECONDS)

    assert receipt.answer == Answer.WAITING
    assert imported == [Receipt(Answer.REPEATED, receipt.match_id)]
    assert fold_waiting(brisca) == 1
    assert_true(brisca)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("limit", [2, 1000], ids=["from a snapshot", "under the lock"])
def test_folds_in_parallel_place_each_match_once(monkeypatch, limit):
    monkeypatch.setattr(recording, "MOST_RERATED", limit)
    brisca, source = open_game("brisca"), make_source()
    record(*(duel("ana", "pepa", today(10, n)) for n in range(30)), source=source)
    late = [duel("lola", "ana", today(9, n), external_id=f"w{n}") for n in range(10)]
    fresh = [duel("pepa", "lola", today(12, n), external_id=f"f{n}") for n in range(5)]
    with undone():
        record(*late, *fresh, source=source)
        expected = everything_of(brisca)
    put_aside(*late, *fresh, source=source)
    version = version_of(brisca)

    folded = at_once(*(lambda: fold_waiting(brisca) for _ in range(6)))

    assert sorted(folded) == [0, 0, 0, 0, 0, 15]
    assert version_of(brisca) == version + 1
    assert everything_of(brisca) == expected
    assert_true(brisca)


# Re-rating from a snapshot, while others write


def another_game(number: int) -> Game:
    """A game of its own for each try: to empty the tables after each would take long."""
    Game.objects.create(slug=f"juego-{number}", name="Juego", shapes=["solo", "2v2"])
    return open_game(f"juego-{number}", idle_days=60)


def past(game, source, *, fresh: bool) -> None:
    """A season and late results in its midst that wait; with `fresh`, one at its end as well."""
    record(*(replace(it, game=game.slug) for it in season(3)), source=source)
    late = [
        duel("ana", "lola", DAYS_AGO[5]),
        duel("pepa", "nueva", DAYS_AGO[4]),
        make_report([team("ana", "rita", place=1), team("bot-3", "pepa", place=2)], at=DAYS_AGO[3]),
        *([duel("lola", "otra", today(12))] if fresh else []),
    ]
    put_aside(*(replace(it, game=game.slug) for it in late), source=source)


def first_rated(game, number: int) -> list[Match]:
    return list(Match.objects.filter(game=game, status="rated").order_by("played_at")[:number])


def rerate_aside(slug, plan, **options):
    """What a re-rating of one game from a snapshot did to it."""
    done = history.rerate_from_snapshot([slug], lambda state: plan(state.game), **options)
    return done.get(slug, rerating.NOTHING_RERATED)


def plan_waiting(game):
    return Rewrite(waiting=ledger.read_waiting(game))


def plan_void(game):
    return Rewrite(edited=history.void([match.pk for match in first_rated(game, 9)]).edits(game))


def plan_correct(game):
    """Takes the first rated match to the very end, with somebody new in it."""
    [match] = first_rated(game, 1)
    sides = [
        CorrectTeam([Player.objects.get(handle="nueva").pk], 1),
        CorrectTeam([match.players[0]], 2),
    ]
    proposal = history.correct(match.pk, Correct(played_at=today(11), teams=sides))
    return Rewrite(edited=proposal.edits(game, at=NOW))


def plan_all(game):
    return Rewrite(waiting=ledger.read_waiting(game), edited=plan_void(game).edited)


def a_match(game) -> int:
    return first_rated(game, 30)[-1].pk


def send(game, source, *reports) -> None:
    """Reports of a game server: they fold in what waits and is not too late, and no more."""
    report(*(replace(it, game=game.slug) for it in reports), source=source)


MEANWHILE = {
    "nothing": lambda game, source: None,
    "append": lambda game, source: send(game, source, duel("ana", "lola", today(13))),
    "append of strangers": lambda game, source: send(
        game, source, duel("x", "y", today(13)), draw("x", "bot-4", today(13, 1))
    ),
    "append of those who wait": lambda game, source: send(
        game, source, duel("nueva", "otra", today(13)), duel("otra", "lola", today(13, 1))
    ),
    "append that is not rated": lambda game, source: send(
        game, source, duel("ana", "lola", today(13), termination="friendly")
    ),
    "append of those who are void": lambda game, source: send(
        game,
        source,
        *(duel("rita", entry, today(13)) for entry in ("bot-1", "bot-2", "bot-3", "pepa", "lola")),
    ),
    "appends one by one": lambda game, source: [
        send(
            game,
            source,
            duel(f"p{n % 3}", "rita", today(13, n)),
            draw("rita", "pepa", today(13, n)),
        )
        for n in range(4)
    ],
    "appends beyond a day's limit": lambda game, source: send(
        game, source, *(duel("ana", "pepa", today(13, n)) for n in range(25))
    ),
    "late result": lambda game, source: record(
        duel("ana", "lola", DAYS_AGO[4], game=game.slug), source=source
    ),
    "void": lambda game, source: history.void_matches([a_match(game)], by=None, reason="forged"),
    "correction": lambda game, source: history.correct_match(
        a_match(game), Correct(played_at=today(9)), by=None, reason="mistake", at=NOW
    ),
    "decay": lambda game, source: apply_decay(MONDAY + timedelta(weeks=12), games=[game]),
    "decay and append": lambda game, source: (
        apply_decay(MONDAY + timedelta(weeks=8), games=[game]),
        send(game, source, duel("ana", "lola", today(13))),
    ),
    "another fold": lambda game, source: fold_waiting(game),
    "another waiting report": lambda game, source: put_aside(
        duel("ana", "nueva", DAYS_AGO[2], game=game.slug), source=source
    ),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("plan", "fresh", "moment"),
    [
        (plan_waiting, False, "before it has the lock"),
        (plan_waiting, True, "before it has the lock"),
        (plan_void, False, "before it has the lock"),
        (plan_correct, False, "before it has the lock"),
        (plan_all, False, "before it has the lock"),
        (plan_all, True, "while it computes"),
    ],
)
def test_rerating_from_a_snapshot_takes_in_what_came_meanwhile(monkeypatch, plan, fresh, moment):
    monkeypatch.setattr(recording, "MOST_RERATED", 10)
    source = make_source()
    make_bots(source)
    real = ledger.lock_games

    for number, (name, meanwhile) in enumerate(MEANWHILE.items()):
        game = another_game(number)
        past(game, source, fresh=fresh)
        jobs = [lambda game=game, meanwhile=meanwhile: meanwhile(game, source)]
        rewrites = []

        def once(jobs=jobs):
            if jobs:
                elsewhere(jobs.pop())

        def planned(game, rewrites=rewrites, once=once):
            rewrites.append(plan(game))
            if moment == "while it computes":
                once()
            return rewrites[-1]

        def lock_games(*args, once=once, **kwargs):
            if moment == "before it has the lock":
                once()
            return real(*args, **kwargs)

        with monkeypatch.context() as hooked:
            hooked.setattr(ledger, "lock_games", lock_games)
            rerating = rerate_aside(game.slug, planned)

        assert jobs == [], name
        assert_true(game)
        # What another fold took, there was nothing left of to do.
        placed = [] if name == "another fold" and plan is plan_waiting else rewrites[-1].placed
        expected = {match.id: match for match in placed}
        assert rerating.outcomes.keys() == expected.keys(), name
        for stored in Match.objects.filter(pk__in=expected):
            assert stored.status != "waiting", name
            assert stored.played_at == expected[stored.pk].played_at, name
            assert (stored.status == "void") == (expected[stored.pk].fact == "void"), name


@pytest.mark.django_db(transaction=True)
def test_rerating_that_is_overtaken_again_and_again_is_done_under_the_lock():
    """Each time that it computes, somebody rewrites history before it has the lock."""
    source = make_source()
    make_bots(source)
    game = another_game(1)
    past(game, source, fresh=True)
    rewrites = []
    first = GameState.objects.get(game=game).rewrites

    def planned(game):
        rewrites.append(GameState.objects.get(game=game).rewrites)
        # The last time it holds the lock, and nobody could.
        if len(rewrites) <= rerating.TRIES:
            elsewhere(lambda: history.void_matches([a_match(game)], by=None, reason="mistake"))
        return plan_waiting(game)

    done = rerate_aside(game.slug, planned)

    assert rewrites == [first + number for number in range(rerating.TRIES + 1)]
    assert len(done.outcomes) == 4
    assert_true(game)


@pytest.mark.parametrize("plan", [plan_waiting, lambda game: Rewrite()])
def test_rerating_of_nothing_does_nothing(brisca, source, plan):
    evening(source)
    version = version_of(brisca)

    done = rerate_aside("brisca", plan)
    with transaction.atomic():
        under_lock = history.rerate(ledger.lock_games(["brisca"])["brisca"], plan(brisca))

    assert (done.outcomes, done.rerated) == (under_lock.outcomes, under_lock.rerated) == ({}, 0)
    assert version_of(brisca) == version


def test_rerating_from_a_snapshot_can_be_watched_match_by_match(brisca, source):
    evening(source)
    put_aside(duel("ana", "pepa", today(12, 30)), source=source)
    seen = []

    done = rerate_aside("brisca", plan_waiting, on_match=lambda: seen.append(waiting()))

    assert done.rerated == 3
    assert len(seen) == 3 + 1
    assert all(seen)  # all of it before anything is written


def test_rerating_leaves_no_table_behind(brisca, source):
    evening(source)
    put_aside(duel("ana", "pepa", today(9)), source=source)

    rerate_aside("brisca", plan_waiting)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'staged%'")
        assert cursor.fetchone() == (0,)


# Crashes


class Crash(Exception):
    pass


def crash(*_args, **_kwargs):
    raise Crash


STEPS = [
    "stage",
    "Staged.add",
    "lock_games",
    "Staged.write",
    "insert_matches",
    "edit_matches",
    "update_matches",
    "write_ratings",
    "announce",
]


@contextmanager
def broken(monkeypatch, step, replacement=crash):
    where, _, name = step.rpartition(".")
    with monkeypatch.context() as patch:
        patch.setattr(getattr(ledger, where) if where else ledger, name, replacement)
        yield


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("plan", [plan_waiting, plan_all])
def test_rerating_that_fails_at_any_step_changes_nothing_and_can_run_again(
    brisca, source, monkeypatch, step, plan
):
    make_bots(source)
    past(brisca, source, fresh=True)
    before, version = rows_of(brisca), version_of(brisca)

    with broken(monkeypatch, step), pytest.raises(Crash), transaction.atomic():
        rerate_aside("brisca", plan)

    assert (rows_of(brisca), version_of(brisca)) == (before, version)
    assert len(rerate_aside("brisca", plan).outcomes) == (4 if plan is plan_waiting else 13)
    assert_true(brisca)


@pytest.mark.parametrize("step", ["lock_games", "insert_matches", "write_ratings", "announce"])
def test_report_that_fails_at_any_step_leaves_what_waits(brisca, source, monkeypatch, step):
    evening(source)
    put_aside(duel("lola", "ana", today(12), external_id="w"), source=source)
    before, version = rows_of(brisca), version_of(brisca)

    with broken(monkeypatch, step), pytest.raises(Crash), transaction.atomic():
        report(duel("ana", "rita", external_id="new"), source=source)

    assert (rows_of(brisca), version_of(brisca)) == (before, version)
    assert report(duel("ana", "rita", external_id="new"), source=source)[0].answer == "recorded"
    assert waiting() == set()
    assert_true(brisca)


@pytest.fixture
def folder(transactional_db, tmp_path):
    """A process that folds games on this test's database, and stops where it is told to."""
    command = [sys.executable, "-m", "tests.ratings.folding"]
    with subprocess.Popen(
        command, cwd=PROJECT_FOLDER, env=environment_of_subprocess(tmp_path),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    ) as process:  # fmt: skip
        yield process


def kill_folding(folder, game, step, *, after=0.0):
    """Has a worker fold the game, and killed when it is at that step, or so long after it began."""
    folder.stdin.write(f"{game.slug} {step}\n")
    assert folder.stdout.readline() == f"{step}\n"
    sleep(after)
    folder.stdin.write("kill\n")
    said = folder.stdout.readline()
    if step == "never" and said == "it is over\n":
        said = folder.stdout.readline()
    assert said == "killed\n"


KILLED_AT = [*STEPS, "announce+", "end"]


def test_worker_killed_at_any_step_leaves_the_old_state_or_the_new(folder):
    source = make_source()
    make_bots(source)

    for number, step in enumerate(KILLED_AT):
        game = another_game(number)
        past(game, source, fresh=True)
        before, version = rows_of(game), version_of(game)

        kill_folding(folder, game, step)

        left = 0 if step == "end" else 4
        assert (rows_of(game) == before) == (left == 4), step
        # It waits for the lock that the server takes from the dead one's connection.
        assert fold_waiting(game) == left, step
        assert version_of(game) == version + 1, step
        assert_true(game)


def test_worker_killed_at_any_moment_leaves_the_old_state_or_the_new(folder):
    source = make_source()
    make_bots(source)
    choice = random.Random(7)

    for number in range(8):
        game = another_game(number)
        past(game, source, fresh=True)
        version = version_of(game)

        kill_folding(folder, game, "never", after=choice.random() / 10)

        assert fold_waiting(game) in (0, 4)
        assert version_of(game) == version + 1
        assert not Match.objects.filter(game=game, status="waiting").exists()
        assert_true(game)


# Readers


@pytest.mark.django_db(transaction=True)
def test_reader_sees_the_old_state_until_all_is_written(monkeypatch):
    brisca, source = open_game("brisca"), make_source()
    make_bots(source)
    past(brisca, source, fresh=True)
    before = rows_of(brisca)
    seen = {}

    def look():
        with snapshot():
            return rows_of(brisca), version_of(brisca)

    def looking_after(real, step):
        def looking(*args, **kwargs):
            result = real(*args, **kwargs)
            seen[step] = elsewhere(look)
            return result

        return looking

    version = version_of(brisca)
    with monkeypatch.context() as hooked:
        for step in STEPS:
            where, _, name = step.rpartition(".")
            room = getattr(ledger, where) if where else ledger

            hooked.setattr(room, name, looking_after(getattr(room, name), step))
        rerate_aside("brisca", plan_all)

    assert set(seen) == set(STEPS)
    for step, (rows, seen_version) in seen.items():
        assert rows == before, step
        assert seen_version == version, step
    assert elsewhere(look) == (rows_of(brisca), version + 1)
    assert rows_of(brisca) != before


# Reports while a long re-rating runs


@pytest.mark.django_db(transaction=True)
def test_reports_while_a_long_rerating_runs_are_all_answered_and_none_is_lost(monkeypatch):
    """While it computes they are recorded, but for the late ones; while it writes, they wait."""
    monkeypatch.setattr(recording, "MOST_RERATED", 24)
    brisca, source = open_game("brisca", idle_days=60), make_source()
    make_bots(source)
    past(brisca, source, fresh=False)
    computing, writing = Stop(), Stop()
    monkeypatch.setattr(recording, "_waiting_in", computing.before(recording._waiting_in))
    monkeypatch.setattr(ledger, "write_ratings", writing.before(ledger.write_ratings, skip=True))

    def write(writer, round, late):
        players = ["ana", "pepa", "lola", "rita", "nueva", f"p{writer}"]
        choice = random.Random(f"{writer} {round}")
        receipts = []
        for number in range(6):
            at = DAYS_AGO[6] if late else today(13 + round, number, writer)
            one, other = choice.sample(players, 2)
            new = duel(one, other, at, external_id=f"{round}-{late}-{writer}-{number}")
            receipts += report(new, source=source)
        return receipts

    folding = Thread(target=lambda: (fold_waiting(brisca), connection.close()), daemon=True)
    folding.start()
    computing.wait()
    in_time = at_once(*(lambda w=w: write(w, 0, late=False) for w in range(4)))
    late = at_once(*(lambda w=w: write(w, 0, late=True) for w in range(2)))
    writing.is_open = False
    computing.go()
    writing.wait()
    monkeypatch.setattr(recording, "LOCK_SECONDS", 0.05)
    blocked = at_once(*(lambda w=w: write(w, 1, late=w % 2 == 0) for w in range(4)))
    writing.go()
    folding.join(timeout=SECONDS)

    assert answers(it for receipts in in_time for it in receipts) == {"recorded": 24}
    assert answers(it for receipts in late for it in receipts) == {"waiting": 12}
    assert answers(it for receipts in blocked for it in receipts) == {"waiting": 24}
    assert {it.match_id for receipts in blocked for it in receipts} <= set(
        Match.objects.filter(status="waiting").values_list("pk", flat=True)
    )
    assert_verified(brisca)
    fold_waiting(brisca)
    assert waiting() == set()
    assert Match.objects.count() == 60 + 3 + 24 + 12 + 24
    assert_true(brisca)


class Stop:
    """A place where a thread stops until it may go on."""

    def __init__(self) -> None:
        self.arrived, self.may_go = Event(), Event()
        self.is_open = False

    def before(self, real, *, skip=False):
        self.is_open = skip

        def stopping(*args, **kwargs):
            if not self.is_open:
                self.is_open = True
                self.arrived.set()
                assert self.may_go.wait(timeout=SECONDS)
            return real(*args, **kwargs)

        return stopping

    def wait(self) -> None:
        assert self.arrived.wait(timeout=SECONDS)

    def go(self) -> None:
        self.may_go.set()


@pytest.mark.django_db(transaction=True)
def test_reports_folds_voids_and_decays_at_once_lose_nothing(monkeypatch):
    monkeypatch.setattr(recording, "MOST_RERATED", 12)
    monkeypatch.setattr(recording, "LOCK_SECONDS", 0.02)
    games, source = (
        [open_game("brisca", idle_days=60), open_game("tute", idle_days=60)],
        make_source(),
    )
    players = [f"p{number}" for number in range(9)]

    def write(writer):
        choice = random.Random(writer)
        receipts = []
        for number in range(25):
            batch = []
            for part in range(choice.choice([1, 1, 3])):
                one, other = choice.sample(players, 2)
                at = MONDAY - timedelta(minutes=choice.randrange(9000 // (1 + number)))
                batch.append(
                    duel(one, other, at, external_id=f"{writer}-{number}-{part}",
                         game=choice.choice(games).slug)
                )  # fmt: skip
            receipts += report(*batch, source=source)
        return receipts

    def fold():
        return sum(fold_waiting(game) for _ in range(15) for game in games)

    def void():
        choice = random.Random("void")
        for _ in range(10):
            ids = list(Match.objects.filter(status="rated").values_list("pk", flat=True))
            some = choice.sample(ids, min(4, len(ids)))
            history.void_matches(some, by=None, reason="forged")
            history.restore_matches(some[1:], by=None, reason="mistake")

    def decay():
        for week in range(10):
            apply_decay(MONDAY + timedelta(weeks=week))

    results = at_once(*(lambda w=w: write(w) for w in range(4)), fold, fold, void, decay)

    receipts = [receipt for written in results[:4] for receipt in written]
    assert set(answers(receipts)) <= {"recorded", "waiting"}
    assert Match.objects.count() == len({it.match_id for it in receipts}) == len(receipts)
    for game in games:
        fold_waiting(game)
        assert_true(game)
    assert waiting() == set()
