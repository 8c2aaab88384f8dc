"""Many writers at once on real PostgreSQL: no update lost, none half seen, nobody stuck."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from queue import SimpleQueue
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from ratings import history
from ratings.decay import apply_decay
from ratings.models import (
    GameState,
    Match,
    Participation,
    Player,
    PlayerAlias,
    PointsCount,
    Rating,
    Source,
)
from ratings.recording import Answer, Receipt, record_matches
from ratings.reports import Report
from ratings.snapshots import snapshot
from ratings.standings import Board
from tests.ratings.builders import MONDAY, NOW, draw, duel, make_source, open_game, record, today

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 60


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """Runs the jobs in a thread and on a connection each, all from one moment on.

    Returns what they returned, in their order; what one raised is raised. No statement of theirs
    waits for more than some seconds, so that writers who block each other fail and do not hang.
    """
    start = Barrier(len(jobs))
    results: list[Any] = [None] * len(jobs)
    errors: list[BaseException] = []

    def run(number: int, job: Callable[[], Any]) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET statement_timeout = '30s'")
            start.wait(timeout=SECONDS)
            results[number] = job()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [Thread(target=run, args=numbered, daemon=True) for numbered in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=SECONDS)
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"
    if errors:
        raise errors[0]
    return results


def report(source: Source, *reports: Report) -> Callable[[], list[Receipt]]:
    """A job for `at_once`: records a batch."""
    return partial(record_matches, reports, source=source, at=NOW)


def answers(receipts: Sequence[Any]) -> Counter:
    return Counter(receipt.answer.value for receipt in receipts)


def deadlocks() -> int:
    """How many this database has seen. Those who were in one have closed their connections."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        [count] = cursor.fetchone()
    return count


def wait_for_somebody_who_waits(observer: BaseDatabaseWrapper) -> None:
    """Returns as soon as some connection to this database waits for a lock."""
    with observer.cursor() as cursor:
        for _ in range(5_000):
            cursor.execute(
                "SELECT count(*), pg_sleep(0.002)::text FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waits")


def assert_sound(*games):
    """Verified; every player known by somebody; and each one's rows form an unbroken chain."""
    for game in games:
        found = history.verify(game)
        assert found.differences == []
    assert not Player.objects.filter(aliases=None).exists()
    assert not PlayerAlias.objects.exclude(player__in=Player.objects.all()).exists()
    for game in games:
        last: dict[int, float] = {}
        rows = Participation.objects.filter(game=game, elo_after__isnull=False)
        for row in rows.order_by("played_at", "match_id"):
            assert row.elo_before == last.get(row.player_id, 1200.0)
            last[row.player_id] = row.elo_after
        assert last == dict(Rating.objects.filter(game=game).values_list("player_id", "elo"))


def test_twenty_writers_for_one_player_lose_no_update_and_show_no_half_match():
    brisca = open_game("brisca")
    source = make_source()
    record(draw("player_1", "other", termination="friendly"), source=source)
    stopped = Event()
    seen_counts: SimpleQueue[int | AssertionError] = SimpleQueue()

    def read():
        """A reader sees whole matches only: what one side won the other side has lost."""
        try:
            seen = 0
            while not stopped.is_set():
                with snapshot():
                    elos = list(Rating.objects.filter(game=brisca).values_list("elo", flat=True))
                    matches = Match.objects.filter(game=brisca, status="rated").count()
                    sides = Participation.objects.filter(elo_after__isnull=False).count()
                    listed = Board(brisca).listed()
                assert sum(elos) == pytest.approx(1200 * len(elos), abs=1e-6)
                assert sides == 2 * matches
                assert len(elos) == listed == (matches + 1 if matches else 0)
                assert matches >= seen
                seen = matches
                seen_counts.put(seen)
        except AssertionError as error:
            seen_counts.put(error)
        finally:
            connection.close()

    reader = Thread(target=read, daemon=True)
    reader.start()
    try:
        results = at_once(
            *(report(source, duel("player_1", f"new-{number}", today(10))) for number in range(20))
        )
    finally:
        stopped.set()
        reader.join(timeout=SECONDS)

    seen = [seen_counts.get() for _ in range(seen_counts.qsize())]
    assert not [error for error in seen if isinstance(error, AssertionError)]
    assert seen
    assert answers(receipt for [receipt] in results) == {"recorded": 20}
    one = Rating.objects.get(player__handle="player_1")
    assert one.elo == pytest.approx(1417.8939, abs=1e-4)
    assert one.won == 20
    assert Rating.objects.count() == 21
    assert sum(Rating.objects.values_list("elo", flat=True)) == pytest.approx(25200, abs=1e-6)
    assert Participation.objects.filter(player=one.player, elo_after__isnull=False).count() == 20
    assert GameState.objects.get(game=brisca).version == 21
    assert_sound(brisca)


def test_eight_writers_on_ten_players_lose_no_update():
    """Results in order and late ones, batches and single ones, from two sources."""
    brisca = open_game("brisca")
    sources = [make_source("mesa-1"), make_source("mesa-2")]
    players = [f"p{number}" for number in range(10)]

    def write(number):
        choice = random.Random(number)
        receipts = []
        for _ in range(12):
            batch = []
            for _ in range(choice.choice([1, 1, 2, 6])):
                one, other = choice.sample(players, 2)
                at = MONDAY + timedelta(seconds=choice.randrange(70_000))
                batch.append(choice.choice([duel, duel, draw])(one, other, at))
            receipts += record_matches(batch, source=sources[number % 2], at=NOW)
        return receipts

    results = at_once(*(partial(write, number) for number in range(8)))

    receipts = [receipt for one_writers in results for receipt in one_writers]
    assert answers(receipts) == {"recorded": len(receipts)}
    assert len(receipts) > 200
    assert Match.objects.count() == len({receipt.match_id for receipt in receipts}) == len(receipts)
    assert Player.objects.count() == 20
    assert sum(Rating.objects.values_list("elo", flat=True)) == pytest.approx(24_000, abs=1e-6)
    assert GameState.objects.get(game=brisca).version == 8 * 12
    assert_sound(brisca)


@pytest.mark.parametrize("names", [("mesa-1", "mesa-1"), ("mesa-1", "mesa-2")])
def test_new_player_in_two_first_matches_at_once_is_made_once_for_a_source(names):
    """In two games, whose locks do not exclude each other."""
    games = [open_game("brisca"), open_game("tute")]
    sources = {name: make_source(name) for name in set(names)}

    for attempt in range(10):
        results = at_once(
            *(
                report(sources[name], duel(f"ana-{attempt}", f"pepa-{attempt}", game=game.slug))
                for game, name in zip(games, names, strict=True)
            )
        )
        assert answers(receipt for [receipt] in results) == {"recorded": 2}

    assert Player.objects.count() == PlayerAlias.objects.count() == 20 * len(sources)
    assert Rating.objects.count() == 40
    for name, source in sources.items():
        found = dict(PlayerAlias.objects.filter(source=source).values_list("key", "player__handle"))
        assert len(found) == 20, name
    assert_sound(*games)


def test_new_players_in_many_games_at_once_are_made_once():
    """Eight writers meet the same twelve newcomers, each in an order of its own."""
    games = [open_game(slug) for slug in ("brisca", "tute", "cinquillo", "siete-y-media")]
    source = make_source()
    players = [f"p{number}" for number in range(12)]

    def write(number):
        mixed = random.Random(number).sample(players, len(players))
        slug = games[number % 4].slug
        pairs = zip(mixed[::2], mixed[1::2], strict=True)
        return record_matches(
            [duel(one, other, game=slug) for one, other in pairs], source=source, at=NOW
        )

    results = at_once(*(partial(write, number) for number in range(8)))

    assert answers(receipt for receipts in results for receipt in receipts) == {"recorded": 48}
    assert set(Player.objects.values_list("handle", flat=True)) == set(players)
    assert_sound(*games)


def test_same_report_sent_by_eight_writers_at_once_is_recorded_once():
    brisca = open_game("brisca")
    source = make_source()

    for attempt in range(5):
        sent = duel("ana", "pepa", today(10, attempt), external_id=f"m-{attempt}")
        results = at_once(*(report(source, sent) for _ in range(8)))

        receipts = [receipt for [receipt] in results]
        assert answers(receipts) == {"recorded": 1, "repeated": 7}
        assert len({receipt.match_id for receipt in receipts}) == 1

    assert Match.objects.count() == 5
    assert_sound(brisca)


def test_same_id_sent_for_several_games_at_once_is_recorded_for_one_of_them():
    slugs = ["brisca", "tute", "cinquillo", "siete-y-media"]
    games = [open_game(slug) for slug in slugs]
    source = make_source()

    for attempt in range(5):
        results = at_once(
            *(
                report(source, duel("ana", "pepa", external_id=f"m-{attempt}", game=slug))
                for slug in slugs * 2
            )
        )

        receipts = [receipt for [receipt] in results]
        assert answers(receipts) == {"recorded": 1, "repeated": 1, "conflict": 6}
        conflicts = [receipt for receipt in receipts if receipt.answer == Answer.CONFLICT]
        assert {receipt.problems[0].partition("differs in ")[2] for receipt in conflicts} == {
            "game."
        }
        assert len({receipt.match_id for receipt in receipts}) == 1

    assert Match.objects.count() == 5
    assert_sound(*games)


def test_batches_with_the_same_ids_in_opposite_orders_do_not_block_each_other():
    """In three games, and each batch holds all ids: the last of them is in the way of others."""
    slugs = ["brisca", "tute", "cinquillo"]
    games = [open_game(slug) for slug in slugs]
    source = make_source()

    for attempt in range(4):
        ids = [f"m-{attempt}-{number}" for number in range(12)]
        orders = (ids, ids[::-1], ids[6:] + ids[:6])
        results = at_once(
            *(
                report(
                    source,
                    *(duel("ana", "pepa", external_id=one, game=slug) for one in order),
                )
                for slug, order in zip(slugs, orders, strict=True)
            )
        )

        together = sum((answers(receipts) for receipts in results), Counter())
        assert together == {"recorded": 12, "conflict": 24}
        assert Match.objects.filter(external_id__in=ids).count() == 12

    assert_sound(*games)


def test_batch_that_runs_into_another_writer_twice_is_tried_a_third_time():
    """First a deadlock, of which it is the victim; then an id that the other had taken before."""
    open_game("brisca")
    source = make_source()
    record(duel("ana", "pepa", external_id="pattern"), source=source)
    started = Event()

    def insert(external_id):
        with connection.cursor() as cursor:
            cursor.execute(
                """
                INSERT INTO ratings_match (game_id, source_id, external_id, played_at, received_at,
                                           termination, status, reason, report, players)
                SELECT (SELECT id FROM ratings_game WHERE slug = 'tute'), source_id, %s, played_at,
                       received_at, 'friendly', 'waiting', '', report, players
                  FROM ratings_match WHERE external_id = 'pattern'
                """,
                [external_id],
            )

    def look_for_deadlocks_after(seconds):
        """Who looks first is the victim; each looks once, so long after it began to wait."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('deadlock_timeout', %s, false)", [f"{seconds}s"])

    def be_in_the_way():
        observer = connection.copy()  # inside its transaction it would see one moment only
        try:
            with transaction.atomic():
                look_for_deadlocks_after(60)
                insert("m-2")
                started.set()
                wait_for_somebody_who_waits(observer)
                insert("m-1")
                wait_for_somebody_who_waits(observer)
        finally:
            observer.close()

    def send():
        started.wait(timeout=SECONDS)
        look_for_deadlocks_after(3)  # by then there is one, on however slow a machine
        return report(
            source, duel("ana", "pepa", external_id="m-1"), duel("ana", "pepa", external_id="m-2")
        )()

    before = deadlocks()

    _, receipts = at_once(be_in_the_way, send)

    assert deadlocks() == before + 1
    assert answers(receipts) == {"repeated": 2}
    assert Match.objects.count() == 3


def test_batches_over_several_games_in_opposite_orders_do_not_block_each_other():
    slugs = ["brisca", "tute", "cinquillo", "siete-y-media"]
    games = [open_game(slug) for slug in slugs]
    source = make_source()

    def write(order):
        receipts = []
        for number in range(8):
            batch = [
                duel(f"p{(number + n) % 5}", f"q{(number * n) % 5}", game=slug)
                for n, slug in enumerate(slugs[::order])
            ]
            receipts += record_matches(batch, source=source, at=NOW)
        return receipts

    before = deadlocks()

    results = at_once(*(partial(write, order) for order in (1, -1) * 3))

    assert deadlocks() == before

    assert answers(receipt for receipts in results for receipt in receipts) == {
        "recorded": 6 * 8 * 4
    }
    assert set(GameState.objects.filter(game__in=games).values_list("version", flat=True)) == {48}
    assert_sound(*games)


def test_decay_while_results_come_in_changes_nothing_in_the_end():
    game = open_game("tute", decayed_to=MONDAY, idle_days=60)
    source = make_source()
    players = [f"p{number}" for number in range(6)]
    start = MONDAY - timedelta(days=80)
    end = MONDAY + timedelta(weeks=20)

    def write(number):
        choice = random.Random(number)
        for _ in range(20):
            one, other = choice.sample(players, 2)
            at = start + timedelta(minutes=choice.randrange(200 * 24 * 60))
            record_matches([duel(one, other, at, game="tute")], source=source, at=end)

    def run():
        for week in range(21):
            apply_decay(MONDAY + timedelta(weeks=week), games=[game])

    at_once(partial(write, 1), partial(write, 2), run, run)

    state = GameState.objects.get(game=game)
    assert state.decayed_to == end
    assert state.version == 40 + 20
    assert PointsCount.objects.exists()
    assert_sound(game)


def test_writer_who_fails_leaves_nothing_and_holds_nobody_up():
    """One of the writers is refused by the database in the middle of its work."""
    brisca = open_game("brisca")
    source = make_source()
    stranger = Source(pk=2**40, name="nobody")
    failed: SimpleQueue[str] = SimpleQueue()

    def fail():
        try:
            record_matches([duel("x", "y")], source=stranger, at=NOW, may_create_players=True)
        except Exception as error:
            failed.put(type(error).__name__)

    at_once(fail, report(source, duel("ana", "pepa")))

    assert failed.get(timeout=1) == "IntegrityError"
    assert set(Player.objects.values_list("handle", flat=True)) == {"ana", "pepa"}
    assert Match.objects.count() == 1
    assert GameState.objects.get(game=brisca).version == 1
    assert_sound(brisca)
