"""Decay through the database: the weekly run, what is shown after it, and who leaves the board."""

import random
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier, Thread

import pytest
from django.db import connection
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratings import history
from ratings.decay import apply_decay
from ratings.models import GameState, Participation, Player, Rating, Source
from ratings.standings import Board
from ratings.systems import decay
from ratings.systems.decay import STEP
from tests.ratings.builders import (
    counts_of,
    draw,
    duel,
    everything_of,
    fill_board,
    make_source,
    open_game,
    ratings_of,
    record,
    seat,
    undone,
)

pytestmark = pytest.mark.django_db

WEEK = timedelta(weeks=1)
PLAYED = datetime(2026, 9, 1, 12, tzinfo=UTC)
SUNDAY_BEFORE = datetime(2026, 10, 4, 23, 59, tzinfo=UTC)
CAP = 25 / 3


def monday(month, day):
    return datetime(2026, month, day, tzinfo=UTC)


@pytest.fixture
def tute():
    """A player of mu 30 and sigma 2.9 who played on 1 September: in the board of his day."""
    game = open_game("tute", decayed_to=monday(8, 31))
    fill_board(game, seat(game, mu=30.0, sigma=2.9, handle="p"))
    Rating.objects.update(last_played_at=PLAYED)
    return game


def sigma(handle="p"):
    return Rating.objects.get(player__handle=handle).sigma


def shown(handle="p"):
    return Rating.objects.get(player__handle=handle).openskill


def state_of(game):
    return GameState.objects.get(game=game)


# The weekly run


def test_decay_takes_a_step_on_each_monday_in_utc_however_often_it_runs(tute):
    """Every hour of the Sundays and Mondays around the change of the clocks in Madrid."""
    start = datetime(2026, 10, 1, tzinfo=UTC)
    hours = (start + timedelta(hours=hour) for hour in range(33 * 24))
    changes = {}
    for at in hours:
        if at.weekday() in (0, 6) and (changed := apply_decay(at, games=[tute])):
            changes[at] = changed

    assert changes == {
        monday(10, 5): 1,
        monday(10, 12): 1,
        monday(10, 19): 1,
        monday(10, 26): 1,
        monday(11, 2): 1,
    }
    assert sigma() == 2.9 + 5 * STEP == pytest.approx(3.203333, abs=1e-6)
    assert shown() == pytest.approx(1989.36, abs=0.01)


def test_decay_of_a_moment_in_another_zone_goes_by_utc(tute):
    madrid = timezone(timedelta(hours=2))

    apply_decay(datetime(2026, 10, 5, 1, 59, 59, tzinfo=madrid), games=[tute])
    assert sigma() == 2.9

    apply_decay(datetime(2026, 10, 5, 2, 0, tzinfo=madrid), games=[tute])
    assert sigma() == 2.9 + STEP


def test_decay_that_was_missed_is_caught_up_with(tute):
    apply_decay(datetime(2026, 10, 6, tzinfo=UTC), games=[tute])

    changed = apply_decay(datetime(2026, 10, 27, 9, tzinfo=UTC), games=[tute])
    assert changed == 1
    assert sigma() == 2.9 + 4 * STEP == pytest.approx(3.142667, abs=1e-6)

    apply_decay(monday(11, 2), games=[tute])
    assert sigma() == 2.9 + 5 * STEP


def test_decay_that_runs_again_changes_nothing(tute):
    apply_decay(monday(10, 12), games=[tute])
    before = (everything_of(tute), state_of(tute).version, state_of(tute).decayed_to)

    assert apply_decay(monday(10, 12), games=[tute]) == 0
    with override_settings(TIME_ZONE="America/Mexico_City"):
        assert apply_decay(monday(10, 12) + timedelta(days=6), games=[tute]) == 0

    after = (everything_of(tute), state_of(tute).version, state_of(tute).decayed_to)
    assert after == before


def test_decay_of_an_earlier_moment_changes_nothing(tute):
    apply_decay(monday(10, 26), games=[tute])
    before = (everything_of(tute), state_of(tute).version)

    assert apply_decay(monday(10, 12), games=[tute]) == 0

    assert (everything_of(tute), state_of(tute).version) == before
    assert state_of(tute).decayed_to == monday(10, 26)


def test_decay_moves_the_version_and_the_monday_of_each_game_by_one_run(tute):
    brisca = open_game("brisca", decayed_to=monday(8, 31))

    apply_decay(SUNDAY_BEFORE + WEEK, games=[tute, brisca])

    for game in (tute, brisca):
        state = state_of(game)
        assert (state.version, state.decayed_to) == (1, monday(10, 5))


def test_decay_of_all_games_is_the_default(tute):
    brisca = open_game("brisca", decayed_to=monday(8, 31))

    changed = apply_decay(monday(10, 5))

    assert changed == 1
    assert state_of(tute).decayed_to == state_of(brisca).decayed_to == monday(10, 5)
    assert sigma() == 2.9 + STEP


def test_decay_touches_neither_elo_nor_mu_nor_counters(tute):
    before = ratings_of(tute)["p"]

    apply_decay(monday(11, 2), games=[tute])

    after = ratings_of(tute)["p"]
    assert {name for name in after if after[name] != before[name]} == {
        "sigma",
        "openskill",
        "openskill_shown",
    }
    assert after["sigma_settled"] == 2.9


def test_decay_stops_at_the_cap_and_then_changes_nothing_any_more():
    game = open_game("tute", decayed_to=monday(8, 31))
    fill_board(
        game,
        seat(game, mu=26.0, sigma=8.3, handle="new"),
        seat(game, mu=26.0, sigma=CAP, handle="newest"),
    )
    Rating.objects.update(last_played_at=PLAYED)

    changes = [apply_decay(monday(10, 5) + week * WEEK, games=[game]) for week in range(53)]

    assert changes == [1] + [0] * 52
    assert sigma("new") == sigma("newest") == CAP
    assert shown("new") == pytest.approx(1524.0, abs=1e-9)


def test_match_of_somebody_at_the_cap_is_rated(tute):
    Rating.objects.update(sigma_settled=CAP, sigma=CAP)
    source = make_source()
    record(duel("a", "b", PLAYED, game="tute"), source=source, at=PLAYED)
    apply_decay(datetime(2040, 1, 1, tzinfo=UTC), games=[tute])
    assert sigma("a") == CAP

    back = datetime(2040, 1, 2, tzinfo=UTC)
    record(duel("b", "a", back, game="tute"), source=source, at=back)

    row = Participation.objects.get(player__handle="a", played_at=back)
    assert row.sigma_before == CAP
    assert row.sigma_after == sigma("a") < CAP


def test_decay_is_shown_on_the_board_at_once():
    game = open_game("tute", decayed_to=monday(9, 28))
    fill_board(
        game,
        seat(game, mu=30.0, sigma=2.9, handle="p"),
        seat(game, mu=29.9, sigma=2.9, handle="q"),
    )
    Rating.objects.filter(player__handle="p").update(last_played_at=PLAYED)
    Rating.objects.filter(player__handle="q").update(last_played_at=monday(10, 1))
    board = Board(game, "openskill")
    before = [(row.rank, row.rating.player.handle, row.shown) for row in board.page().rows]

    apply_decay(monday(10, 5), games=[game])

    after = [(row.rank, row.rating.player.handle, row.shown) for row in board.page().rows]
    assert before == [(1, "p", 2011), (2, "q", 2009)]
    assert after == [(1, "q", 2009), (2, "p", 2007)]
    assert shown("p") == pytest.approx(2006.83, abs=0.01)
    assert [row.rating.player.handle for row in Board(game, "elo").page().rows] == ["p", "q"]


# Recording and decay together


def settle(source, one, other):
    """Five draws up to `PLAYED`, after which sigma has room to grow in."""
    reports = [draw(one, other, PLAYED - timedelta(hours=hours), game="tute") for hours in range(5)]
    record(*reports, source=source, at=PLAYED)


def test_recording_after_a_run_projects_to_its_monday():
    game = open_game("tute", decayed_to=monday(8, 31))
    source = make_source()
    settle(source, "a", "b")
    apply_decay(monday(11, 2), games=[game])
    assert sigma("b") == Rating.objects.get(player__handle="b").sigma_settled + 5 * STEP

    late = monday(9, 10)
    record(duel("c", "b", late, game="tute"), source=source, at=monday(11, 3))

    b = Rating.objects.get(player__handle="b")
    c = Rating.objects.get(player__handle="c")
    assert (b.last_played_at, c.last_played_at) == (late, late)
    # Thirty days after 10 September comes 10 October; 12, 19 and 26 October and 2 November follow.
    assert b.sigma == b.sigma_settled + 4 * STEP
    assert c.sigma == c.sigma_settled + 4 * STEP
    assert history.verify(game).differences == []


def test_match_is_rated_from_the_sigma_of_its_own_time_whatever_was_run():
    """Run before, run after or never: the ledger says the same."""
    back = monday(11, 3)
    ledgers = []
    for runs in ([], [monday(10, 12)], [monday(10, 5), monday(11, 2)]):
        with undone():
            game = open_game("tute", decayed_to=monday(8, 31))
            source = make_source()
            settle(source, "a", "b")
            for at in runs:
                apply_decay(at, games=[game])
            record(duel("b", "a", back, game="tute"), source=source, at=back)
            row = Participation.objects.get(player__handle="a", played_at=back)
            settled = Participation.objects.get(player__handle="a", played_at=PLAYED).sigma_after
            ledgers.append((row.sigma_before, row.sigma_after, row.mu_after))
            assert row.sigma_before == settled + 5 * STEP
            assert history.verify(game).differences == []

    assert ledgers[0] == ledgers[1] == ledgers[2]


def test_late_result_before_a_decayed_one_changes_what_that_was_rated_from():
    game = open_game("tute", decayed_to=monday(8, 31))
    source = make_source()
    back = monday(11, 3)
    record(
        duel("a", "b", PLAYED, game="tute"),
        duel("b", "a", back, game="tute"),
        source=source,
        at=back,
    )
    between = monday(10, 20)

    record(draw("a", "c", between, game="tute"), source=source, at=back)

    row = Participation.objects.get(player__handle="a", played_at=back)
    settled = Participation.objects.get(player__handle="a", played_at=between).sigma_after
    assert row.sigma_before == settled
    assert history.verify(game).differences == []


# Idle players


@pytest.fixture
def idle_board():
    """Players who played 100, 99 and 1 days before a Monday, on a board that shows 100 days."""
    game = open_game("tute", decayed_to=monday(8, 31), idle_days=100)
    source = make_source()
    for handle, days in (("long", 100), ("less", 99), ("late", 1)):
        at = monday(8, 31) - timedelta(days=days)
        record(duel(handle, f"{handle}-2", at, game="tute"), source=source, at=at)
    return game


def listed(game):
    return {player for player, row in ratings_of(game).items() if row["is_listed"]}


def test_player_leaves_the_board_after_the_idle_days_and_not_a_moment_sooner(idle_board):
    assert listed(idle_board) == {"long", "long-2", "less", "less-2", "late", "late-2"}

    apply_decay(monday(9, 7), games=[idle_board])

    assert listed(idle_board) == {"late", "late-2"}
    assert Board(idle_board).listed() == 2
    assert sum(counts_of(idle_board).values()) == 4
    assert history.verify(idle_board).differences == []


def test_player_comes_back_to_the_board_with_the_next_match(idle_board):
    apply_decay(monday(9, 7), games=[idle_board])

    record(
        duel("long", "late", monday(9, 8), game="tute"),
        source=Source.objects.get(),
        at=monday(9, 8),
    )

    assert listed(idle_board) == {"late", "late-2", "long"}
    assert history.verify(idle_board).differences == []


def test_late_result_of_long_ago_does_not_bring_anybody_back(idle_board):
    apply_decay(monday(9, 7), games=[idle_board])

    record(
        duel("less", "long", monday(5, 1), game="tute"),
        source=Source.objects.get(),
        at=monday(9, 8),
    )

    assert listed(idle_board) == {"late", "late-2"}
    assert history.verify(idle_board).differences == []


@pytest.mark.parametrize("days", [None, 2_000_000, 2**31 - 1])
def test_nobody_is_ever_idle_where_the_days_are_empty_or_endless(days):
    game = open_game("tute", decayed_to=monday(8, 31), idle_days=days)
    source = make_source()
    record(duel("a", "b", datetime(1000, 1, 1, tzinfo=UTC), game="tute"), source=source)

    apply_decay(datetime(2500, 1, 1, tzinfo=UTC), games=[game])

    assert listed(game) == {"a", "b"}
    assert history.verify(game).differences == []


@pytest.mark.parametrize("status", ["retired", "hidden", "frozen", "anonymised"])
def test_decay_takes_whoever_is_no_longer_active_off_the_board(tute, status):
    Player.objects.update(status=status)

    apply_decay(monday(10, 5), games=[tute])

    assert listed(tute) == set()
    assert counts_of(tute) == {}
    assert sigma() == 2.9 + STEP


def test_counts_are_true_after_every_run_and_every_match():
    game = open_game("tute", decayed_to=monday(8, 31), idle_days=40)
    source = make_source()
    choice = random.Random(1)
    players = [f"p{number}" for number in range(12)]
    at = PLAYED
    for _ in range(40):
        at += timedelta(hours=choice.randrange(1, 120))
        if choice.random() < 0.4:
            apply_decay(at, games=[game])
        one, other = choice.sample(players, 2)
        played_at = at - timedelta(days=choice.choice([0, 0, 0, 3, 50]))
        record(duel(one, other, played_at, game="tute"), source=source, at=at)
        assert history.verify(game).differences == []

    apply_decay(at + 60 * timedelta(days=1), games=[game])
    assert counts_of(game) == {}
    assert history.verify(game).differences == []


# One formula in two languages

MOMENTS = st.datetimes(
    min_value=datetime(1000, 1, 1), max_value=datetime(2900, 1, 1), timezones=st.just(UTC)
)
AROUND_MONDAYS = st.builds(
    lambda week, offset: decay.monday(week) - decay.GRACE + timedelta(microseconds=offset),
    st.integers(-40_000, 40_000),
    st.integers(-2, 2),
)
SIGMAS = st.floats(1e-6, CAP) | st.sampled_from([CAP, 2.9, 8.3])


@pytest.mark.parametrize(("microseconds", "count"), [(-1, 1), (0, 0), (1, 0)])
@pytest.mark.parametrize("week", [-40_000, -1, 0, 1, 2957, 40_000])
def test_first_step_comes_on_the_monday_after_thirty_whole_days(week, microseconds, count):
    """A Monday that is just thirty days away is not after them."""
    game = open_game("tute", decayed_to=datetime(1, 1, 8, tzinfo=UTC))
    fill_board(game, seat(game, sigma=2.9, handle="p"))
    away = decay.GRACE - timedelta(microseconds=microseconds)
    Rating.objects.update(last_played_at=decay.monday(week) - away)

    apply_decay(decay.monday(week), games=[game])
    assert sigma() == 2.9 + count * STEP

    apply_decay(decay.monday(week + 1), games=[game])
    assert sigma() == 2.9 + (count + 1) * STEP


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(MOMENTS | AROUND_MONDAYS, SIGMAS), min_size=1, max_size=20),
    MOMENTS | AROUND_MONDAYS,
    st.integers(0, 60),
)
def test_database_projects_to_the_same_bits_as_the_rating_system(players, at, weeks):
    with undone():
        game = open_game("tute", decayed_to=datetime(1, 1, 8, tzinfo=UTC))
        fill_board(game, *(seat(game, sigma=sigma) for _, sigma in players))
        ratings = list(Rating.objects.order_by("id"))
        for rating, (last_played_at, _) in zip(ratings, players, strict=True):
            rating.last_played_at = last_played_at
        Rating.objects.bulk_update(ratings, ["last_played_at"])
        # Half of the runs a few weeks after the first player's last match, half anywhere.
        if weeks % 2:
            at = players[0][0] + weeks * WEEK

        apply_decay(at, games=[game])

        projected = list(Rating.objects.order_by("id").values_list("sigma", flat=True))
        assert state_of(game).decayed_to == decay.current_monday(at)
    assert projected == [
        decay.sigma_at(settled, last_played_at, decay.current_monday(at))
        for last_played_at, settled in players
    ]


# Two runs at once


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_take_one_step():
    game = open_game("tute", decayed_to=monday(10, 5))
    fill_board(game, *(seat(game, mu=30.0, sigma=2.9) for _ in range(50)))
    Rating.objects.update(last_played_at=PLAYED)
    start = Barrier(2)
    changed = []

    def run():
        try:
            start.wait(timeout=10)
            changed.append(apply_decay(monday(10, 12), games=[game]))
        finally:
            connection.close()

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(changed) == [0, 50]
    assert set(Rating.objects.values_list("sigma", flat=True)) == {2.9 + 2 * STEP}
    assert state_of(game).version == 1
