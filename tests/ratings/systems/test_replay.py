"""The replay of a game's history: what is rated, and what it leaves behind."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from math import fsum, inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings.systems.decay import STEP
from ratings.systems.match import START, rate_match
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import (
    CANCELLED,
    FRIENDLY,
    PAIR_LIMIT,
    PAIR_LIMIT_REACHED,
    PAIR_WINDOW,
    SAME_OWNER,
    VOID,
    Change,
    Entry,
    PlayedMatch,
    Recent,
    Replay,
    Standing,
    count_result,
)
from tests.ratings.systems.strategies import histories, repeatable

AT = datetime(2026, 7, 6, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)

# A history is long: a hundred of them hold thousands of matches.
repeatable = settings(repeatable, max_examples=100)

A, B, C, D, E = 1, 2, 3, 4, 5


def duel(at, winner, loser, fact=""):
    return PlayedMatch(at, [Entry(winner, 1, 1), Entry(loser, 2, 2)], fact)


def draw(at, *players):
    return PlayedMatch(at, [Entry(player, player, 1) for player in players])


def replayed(history):
    """The standings after a history, and the reasons of its matches."""
    replay = Replay()
    reasons = [outcome.reason for outcome in replay.replay(history)]
    return replay.standings, reasons


def elos(standings, *players):
    return [standings[player].elo for player in players]


def copied(standings):
    return {player: replace(standing) for player, standing in standings.items()}


def recent_before(outcomes, at):
    """What the database would give: the rated matches of the last 24 hours, in their order."""
    recent = Recent()
    for outcome in outcomes:
        match = outcome.match
        if not outcome.reason and at - match.played_at < timedelta(hours=24):
            recent.add(match.played_at, tuple(sorted(entry.player for entry in match.entries)))
    return recent


# Counters


def test_rate_counts_a_sole_first_place_as_won():
    match = PlayedMatch(AT, [Entry(A, 1, 2), Entry(B, 2, 1), Entry(C, 3, 2), Entry(D, 4, 4)])

    standings, _ = replayed([match])

    assert {player: (s.won, s.drawn, s.lost) for player, s in standings.items()} == {
        A: (0, 0, 1),
        B: (1, 0, 0),
        C: (0, 0, 1),
        D: (0, 0, 1),
    }


def test_rate_counts_a_shared_first_place_as_drawn():
    match = PlayedMatch(AT, [Entry(A, 1, 3), Entry(B, 2, 1), Entry(C, 3, 1)])

    standings, _ = replayed([match])

    assert {player: (s.won, s.drawn, s.lost) for player, s in standings.items()} == {
        A: (0, 0, 1),
        B: (0, 1, 0),
        C: (0, 1, 0),
    }


def test_rate_counts_team_mates_alike():
    match = PlayedMatch(AT, [Entry(A, 1, 2), Entry(B, 2, 1), Entry(C, 2, 1), Entry(D, 2, 1)])

    standings, _ = replayed([match])

    assert {player: (s.won, s.drawn, s.lost) for player, s in standings.items()} == {
        A: (0, 0, 1),
        B: (1, 0, 0),
        C: (1, 0, 0),
        D: (1, 0, 0),
    }


def test_rate_adds_up():
    history = [
        duel(AT, A, B), duel(AT, A, B), duel(AT, B, A), draw(AT, A, B), duel(AT, C, A)
    ]  # fmt: skip

    standings, _ = replayed(history)

    assert {player: (s.won, s.drawn, s.lost) for player, s in standings.items()} == {
        A: (2, 1, 2),
        B: (1, 1, 2),
        C: (1, 0, 0),
    }


def test_rate_by_the_best_place_of_the_match_and_not_by_one():
    match = PlayedMatch(AT, [Entry(A, 1, 5), Entry(B, 2, 7)])

    standings, _ = replayed([match])

    assert (standings[A].won, standings[B].lost) == (1, 1)


@pytest.mark.parametrize("places", [(1, 1, 2), (2, 2, 1), (1, 1, 1), (3, 3, 5)])
def test_count_result_and_take_it_off_again(places):
    entries = [Entry(A, 1, places[0]), Entry(B, 1, places[1]), Entry(C, 2, places[2])]
    standings = {player: Standing(won=3, drawn=4, lost=5) for player in (A, B, C)}
    rated, _ = replayed([PlayedMatch(AT, entries)])

    count_result(standings, entries)
    counted = copied(standings)
    count_result(standings, entries, times=-1)

    assert {p: (s.won - 3, s.drawn - 4, s.lost - 5) for p, s in counted.items()} == {
        p: (s.won, s.drawn, s.lost) for p, s in rated.items()
    }
    assert set(map(str, standings.values())) == {str(Standing(won=3, drawn=4, lost=5))}


# Peak and time


def test_rate_remembers_the_peak():
    history = [duel(AT, A, B), duel(AT + HOUR, A, C), duel(AT + 2 * HOUR, B, A)]

    standings, _ = replayed(history)

    assert standings[A].peak_elo == rate_match([[(1216.0, *START[1:])], [START]], [1, 2])[0][0][0]
    assert standings[A].peak_at == AT + HOUR
    assert standings[A].elo < standings[A].peak_elo
    assert standings[A].last_played_at == AT + 2 * HOUR


def test_rate_takes_the_first_match_as_peak_though_lost():
    standings, _ = replayed([duel(AT, A, B), duel(AT + HOUR, A, B)])

    assert (standings[B].peak_elo, standings[B].peak_at) == (1184.0, AT)


def test_rate_takes_the_first_match_as_peak_though_negative():
    replay = Replay({A: Standing(elo=-500.0), B: Standing(elo=-500.0)})

    replay.rate(duel(AT, A, B))

    assert (replay.standings[B].peak_elo, replay.standings[B].peak_at) == (-516.0, AT)


def test_rate_keeps_the_first_of_two_equal_peaks():
    history = [duel(AT, A, B), duel(AT, C, D), draw(AT + HOUR, A, C)]

    standings, _ = replayed(history)

    assert (standings[A].elo, standings[A].peak_elo, standings[A].peak_at) == (1216.0, 1216.0, AT)


def test_standing_of_a_newcomer():
    standing = Standing()

    assert standing.skill_at(AT) == START == (1200.0, 25.0, 25 / 3)
    assert (standing.last_played_at, standing.peak_elo, standing.peak_at) == (None, 0.0, None)
    assert (standing.won, standing.drawn, standing.lost) == (0, 0, 0)


def test_standing_skill_decays_only_sigma():
    """BL-063, BL-069: flat Elo over a gap, and four Mondays of uncertainty."""
    standing = Standing(2000.0, 30.0, 2.9, datetime(2026, 9, 1, 12, tzinfo=UTC), 3, 2, 1)
    before = replace(standing)

    skill = standing.skill_at(datetime(2026, 10, 27, 9, tzinfo=UTC))

    assert skill == (2000.0, 30.0, 2.9 + 4 * STEP)
    assert standing == before


def test_rate_from_the_sigma_of_its_own_moment():
    replay = Replay({A: Standing(1500.0, 30.0, 2.9, datetime(2026, 9, 1, 12, tzinfo=UTC))})
    at = datetime(2026, 11, 2, tzinfo=UTC)

    outcome = replay.rate(duel(at, A, B))

    before = (1500.0, 30.0, 2.9 + 5 * STEP)
    [[after], [opponent]] = rate_match([[before], [START]], [1, 2])
    assert outcome.changes == [Change(A, before, after), Change(B, START, opponent)]
    assert replay.standings[A].sigma == after[2]
    assert replay.standings[A].last_played_at == at


def test_rate_answers_changes_in_the_order_of_entries():
    entries = [Entry(D, 2, 2), Entry(A, 1, 1), Entry(C, 2, 2), Entry(B, 1, 1)]
    match = PlayedMatch(AT, entries, id=7)

    outcome = Replay().rate(match)

    [[winner, _], [loser, _]] = rate_match([[START, START], [START, START]], [1, 2])
    assert outcome.match is match
    assert outcome.reason == ""
    assert outcome.changes == [
        Change(D, START, loser),
        Change(A, START, winner),
        Change(C, START, loser),
        Change(B, START, winner),
    ]


def test_rate_keeps_team_mates_apart():
    """Each goes on from the numbers of his own, however the report lists them."""
    start = {
        A: Standing(1400.0, 30.0, 3.0),
        B: Standing(1200.0, 22.0, 6.0),
        C: Standing(1300.0, 25.0, 4.0),
        D: Standing(1250.0, 27.0, 5.0),
    }
    entries = [Entry(A, 1, 1), Entry(C, 2, 2), Entry(B, 1, 1), Entry(D, 2, 2)]
    found = set()

    for order in permutations(entries):
        replay = Replay(copied(start))
        replay.rate(PlayedMatch(AT, order))
        found.add(tuple((s.elo, s.mu, s.sigma) for _, s in sorted(replay.standings.items())))

    pairs = [[start[A], start[B]], [start[C], start[D]]]
    [[a, b], [c, d]] = rate_match([[s.skill_at(AT) for s in pair] for pair in pairs], [1, 2])
    assert found == {(a, b, c, d)}


# Pair limit


def sitting(count, at=AT, players=(A, B)):
    """So many matches, a minute apart."""
    return [duel(at + n * timedelta(minutes=1), *players) for n in range(count)]


def test_pair_limit():
    assert PAIR_LIMIT == 20
    assert timedelta(hours=24) == PAIR_WINDOW


def test_rate_twenty_matches_of_a_pair_and_not_the_next():
    _, reasons = replayed(sitting(22))

    assert reasons == [""] * 20 + [PAIR_LIMIT_REACHED] * 2


def test_rate_pair_again_when_the_first_is_a_day_old():
    history = sitting(20)
    history += [duel(AT + DAY - MICROSECOND, A, B), duel(AT + DAY, A, B), duel(AT + DAY, A, B)]

    _, reasons = replayed(history)

    assert reasons == [""] * 20 + [PAIR_LIMIT_REACHED, "", PAIR_LIMIT_REACHED]


def test_rate_pair_again_and_again_as_the_window_slides():
    history = sitting(20)
    history += [duel(AT + DAY + n * timedelta(seconds=30), A, B) for n in range(41)]

    _, reasons = replayed(history)

    # Every minute one of yesterday's matches leaves the window, and one of today's takes its place.
    assert reasons == [""] * 20 + ["", PAIR_LIMIT_REACHED] * 20 + [PAIR_LIMIT_REACHED]


def test_rate_by_the_set_of_players():
    """Who won, and in what order a report lists them, makes no other set."""
    history = sitting(10) + sitting(10, AT + HOUR, players=(B, A))
    history += [draw(AT + 2 * HOUR, B, A)]

    _, reasons = replayed(history)

    assert reasons == [""] * 20 + [PAIR_LIMIT_REACHED]


def test_rate_other_sets_of_players_beside_a_limit():
    others = [draw(AT + HOUR, A, C), draw(AT + HOUR, C, B), draw(AT + HOUR, A, B, C)]
    history = [*sitting(21), *others, duel(AT + HOUR, A, B)]

    _, reasons = replayed(history)

    assert reasons == [""] * 20 + [PAIR_LIMIT_REACHED, "", "", "", PAIR_LIMIT_REACHED]


def test_rate_limits_sets_of_more_than_two():
    table = [
        PlayedMatch(AT + n * HOUR, [Entry(A, 1, 1), Entry(B, 2, 2), Entry(C, 2, 2)])
        for n in range(21)
    ]

    _, reasons = replayed(table)

    assert reasons == [""] * 20 + [PAIR_LIMIT_REACHED]


def test_rate_does_not_count_unrated_matches_towards_the_limit():
    friendly = [duel(AT, A, B, fact) for fact in (VOID, CANCELLED, FRIENDLY)] * 10
    family = [PlayedMatch(AT, [Entry(A, 1, 1, "x"), Entry(B, 2, 2, "x")])] * 30

    _, reasons = replayed([*friendly, *family, *sitting(21)])

    assert reasons == (
        [VOID, CANCELLED, FRIENDLY] * 10 + [SAME_OWNER] * 30 + [""] * 20 + [PAIR_LIMIT_REACHED]
    )


def test_rate_does_not_prolong_the_limit_by_matches_above_it():
    history = sitting(20) + [duel(AT + 23 * HOUR, A, B)] * 50 + [duel(AT + 25 * HOUR, A, B)]

    _, reasons = replayed(history)

    assert reasons == [""] * 20 + [PAIR_LIMIT_REACHED] * 50 + [""]


def test_rate_above_the_limit_leaves_no_trace():
    standings, _ = replayed(sitting(20))
    replay = Replay()
    for match in sitting(20):
        replay.rate(match)

    outcome = replay.rate(duel(AT + 2 * HOUR, A, B))

    assert (outcome.reason, outcome.changes) == (PAIR_LIMIT_REACHED, ())
    assert replay.standings == standings


def test_void_of_a_rated_match_lets_a_later_one_in():
    history = sitting(21)
    history[3] = history[3]._replace(fact=VOID)

    _, reasons = replayed(history)

    assert reasons == ["", "", "", VOID] + [""] * 17


def test_recent_counts_the_last_24_hours():
    recent = Recent()
    recent.add(AT, (A, B))
    recent.add(AT + HOUR, (A, B))
    recent.add(AT + HOUR, (A, C))

    assert recent.count(AT + HOUR, (A, B)) == 2
    assert recent.count(AT + DAY - MICROSECOND, (A, B)) == 2
    assert recent.count(AT + DAY, (A, B)) == 1
    assert recent.count(AT + DAY, (A, C)) == 1
    assert recent.count(AT + DAY, (B, C)) == 0
    assert recent.count(AT + DAY + HOUR, (A, B)) == 0


def test_recent_forgets_what_is_older():
    """A history of a million matches is not kept in memory."""
    recent = Recent()
    for player in range(1000):
        recent.add(AT + player * HOUR, (player, player + 1))
        recent.count(AT + player * HOUR, (A, B))

    last_day = Recent()
    for player in range(976, 1000):
        last_day.add(AT + player * HOUR, (player, player + 1))
    assert recent == last_day
    assert recent.count(AT + 1023 * HOUR, (A, B)) == 0
    assert recent == Recent()


# Owners


@pytest.mark.parametrize(
    ("owners", "reason"),
    [
        ({}, ""),
        ({A: "x"}, ""),
        ({A: "x", C: "y"}, ""),
        ({A: "x", B: "x"}, ""),
        ({A: "x", B: "x", C: "y", D: "y"}, ""),
        ({A: "x", C: "x"}, SAME_OWNER),
        ({B: "x", C: "x"}, SAME_OWNER),
        ({A: "x", B: "x", D: "x"}, SAME_OWNER),
        ({A: "y", B: "x", C: "z", E: "x"}, SAME_OWNER),
        ({C: 0, E: 0}, SAME_OWNER),
        ({C: "", E: ""}, SAME_OWNER),
    ],
)
def test_rate_opponents_of_one_owner(owners, reason):
    """A and B play together against C with D and against E."""
    places = {A: (1, 1), B: (1, 1), C: (2, 2), D: (2, 2), E: (3, 3)}
    entries = [Entry(player, *place, owners.get(player)) for player, place in places.items()]

    for listed in (entries, entries[::-1]):
        outcome = Replay().rate(PlayedMatch(AT, listed))
        assert outcome.reason == reason
        assert len(outcome.changes) == (0 if reason else 5)


@pytest.mark.parametrize(
    ("fact", "owner", "reason"),
    [
        (VOID, "x", VOID),
        (CANCELLED, "x", CANCELLED),
        (FRIENDLY, "x", FRIENDLY),
        (FRIENDLY, None, FRIENDLY),
        ("", "x", SAME_OWNER),
        ("", None, PAIR_LIMIT_REACHED),
    ],
)
def test_rate_names_facts_before_owners_before_the_limit(fact, owner, reason):
    entries = [Entry(A, 1, 1, owner), Entry(B, 2, 2, owner)]
    history = [*sitting(20), PlayedMatch(AT + HOUR, entries, fact)]

    _, reasons = replayed(history)

    assert reasons == [""] * 20 + [reason]


@pytest.mark.parametrize("fact", [VOID, CANCELLED, FRIENDLY])
def test_rate_of_a_fact_leaves_no_trace(fact):
    replay = Replay()
    replay.rate(duel(AT, A, B))
    before = copied(replay.standings)

    outcome = replay.rate(duel(AT + 40 * DAY, A, C, fact))

    assert (outcome.reason, outcome.changes) == (fact, ())
    assert replay.standings == before
    assert C not in replay.standings


@repeatable
@given(histories())
def test_replay_without_the_unrated(history):
    """What was not rated might as well not have been played."""
    replay = Replay()
    outcomes = list(replay.replay(history))

    again = Replay()
    rated = [outcome for outcome in outcomes if not outcome.reason]
    outcomes_again = list(again.replay([outcome.match for outcome in rated]))

    assert outcomes_again == rated
    assert again.standings == replay.standings


# Order


@repeatable
@given(histories(), st.randoms(use_true_random=False))
def test_replay_whatever_the_order_of_entries(history, random):
    relisted = [
        match._replace(entries=random.sample(match.entries, len(match.entries)))
        for match in history
    ]

    replay, other = Replay(), Replay()
    outcomes = list(replay.replay(history))
    others = list(other.replay(relisted))

    assert other.standings == replay.standings
    for outcome, relisted_outcome in zip(outcomes, others, strict=True):
        assert relisted_outcome.reason == outcome.reason
        assert sorted(relisted_outcome.changes) == sorted(outcome.changes)


@repeatable
@given(histories(), st.integers(1, 1000))
def test_replay_whatever_the_ids_of_players_and_teams(history, factor):
    """Ids are given in the order of arrival, which is no part of the history."""

    def renamed(number):
        return (number * factor) % 1009

    others = [
        match._replace(
            entries=[
                entry._replace(player=renamed(entry.player), team=renamed(entry.team))
                for entry in match.entries
            ]
        )
        for match in history
    ]

    standings, reasons = replayed(history)

    assert replayed(others) == (
        {renamed(player): standing for player, standing in standings.items()},
        reasons,
    )


@repeatable
@given(histories(), st.data())
def test_replay_resumed_at_any_match(history, data):
    """From copied standings and the last 24 hours on: the same to the last bit."""
    cut = data.draw(st.integers(0, len(history)))
    replay = Replay()
    first = list(replay.replay(history[:cut]))
    standings = copied(replay.standings)
    at = history[cut].played_at if cut < len(history) else AT
    rest = list(replay.replay(history[cut:]))

    resumed = Replay(standings, recent_before(first, at))

    assert list(resumed.replay(history[cut:])) == rest
    assert resumed.standings == replay.standings


@repeatable
@given(histories(), st.data())
def test_replay_resumed_with_those_who_play_on(history, data):
    """A re-rating loads the standings of the players it meets, not of everybody."""
    cut = data.draw(st.integers(0, len(history) - 1))
    replay = Replay()
    first = list(replay.replay(history[:cut]))
    playing = {entry.player for match in history[cut:] for entry in match.entries}
    standings = {p: s for p, s in copied(replay.standings).items() if p in playing}
    rest = list(replay.replay(history[cut:]))

    resumed = Replay(standings, recent_before(first, history[cut].played_at))

    assert list(resumed.replay(history[cut:])) == rest
    assert resumed.standings == {p: s for p, s in replay.standings.items() if p in playing}


def test_replay_does_not_touch_the_given_mapping():
    given_standings = {A: Standing()}

    Replay(given_standings).rate(duel(AT, B, C))

    assert given_standings == {A: Standing()}


def test_replay_uses_the_given_recent():
    recent = Recent()
    for n in range(20):
        recent.add(AT + n * timedelta(minutes=1), (A, B))

    outcome = Replay(recent=recent).rate(duel(AT + HOUR, A, B))

    assert outcome.reason == PAIR_LIMIT_REACHED


def test_replay_streams():
    """The outcome is there before the next match is asked for."""
    asked = []

    def history():
        for n in range(1000):
            asked.append(n)
            yield duel(AT, A, B)

    outcomes = Replay().replay(history())
    next(outcomes)
    next(outcomes)

    assert asked == [0, 1]


@repeatable
@given(histories())
def test_replay_keeps_its_books(history):
    """Every rated match is in the counters of all its players; Elo sums to what it was."""
    replay = Replay()
    outcomes = list(replay.replay(history))

    played = Counter(change.player for outcome in outcomes for change in outcome.changes)
    standings = replay.standings
    assert {player: s.won + s.drawn + s.lost for player, s in standings.items()} == played
    assert fsum(s.elo - 1200.0 for s in standings.values()) == pytest.approx(0, abs=1e-9)
    for player, standing in standings.items():
        after = [
            (change.after, outcome.match.played_at)
            for outcome in outcomes
            for change in outcome.changes
            if change.player == player
        ]
        highest = max(skill[0] for skill, _ in after)
        assert (standing.elo, standing.mu, standing.sigma) == after[-1][0]
        assert standing.last_played_at == after[-1][1]
        assert standing.peak_elo == highest
        assert standing.peak_at == next(at for skill, at in after if skill[0] == highest)


# Public reports


def test_replay_in_the_order_of_play():
    """BL-023: m3 was played between m1 and m2, and reported last."""
    m1, m2, m3 = duel(AT, A, B), duel(AT + HOUR, B, C), duel(AT + HOUR / 2, C, A)

    standings, _ = replayed([m1, m3, m2])
    on_arrival, _ = replayed([m1, m2, m3])

    assert elos(standings, A, B, C) == pytest.approx([1199.2637, 1201.5031, 1199.2332], abs=1e-4)
    assert [(standings[p].mu, standings[p].sigma) for p in (A, B, C)] == [
        pytest.approx((24.8793, 7.8340), abs=1e-4),
        pytest.approx((25.4438, 7.8332), abs=1e-4),
        pytest.approx((24.8649, 7.8266), abs=1e-4),
    ]
    assert [displayed_rating(standings[p].mu, standings[p].sigma) for p in (A, B, C)] == (
        pytest.approx([1533.06, 1546.66, 1533.25], abs=0.01)
    )
    assert elos(on_arrival, A, B, C) == pytest.approx([1198.4969, 1200.7363, 1200.7668], abs=1e-4)


def test_replay_without_two_wins():
    """BL-025: 6-0-3, two of the wins void."""
    results = "WWLWWLWLW"
    history = [
        duel(AT + n * HOUR, *((A, B + n) if result == "W" else (B + n, A)))
        for n, result in enumerate(results)
    ]
    voided = [
        match._replace(fact=VOID) if n in (1, 4) else match for n, match in enumerate(history)
    ]

    full, _ = replayed(history)
    standings, _ = replayed(voided)
    rebuilt, _ = replayed([match for match in voided if not match.fact])

    assert (full[A].won, full[A].drawn, full[A].lost) == (6, 0, 3)
    assert (standings[A].won, standings[A].drawn, standings[A].lost) == (4, 0, 3)
    assert standings == rebuilt


def test_replay_without_the_match_of_the_peak():
    """BL-027: a win, void; then a loss."""
    win, loss = duel(AT, A, B), duel(AT + HOUR, C, A)

    before, _ = replayed([win])
    standings, _ = replayed([win._replace(fact=VOID), loss])

    assert (before[A].elo, before[A].peak_elo, before[A].peak_at) == (1216.0, 1216.0, AT)
    assert standings[A].elo == 1184.0
    assert (standings[A].peak_elo, standings[A].peak_at) == (1184.0, AT + HOUR)
    assert (standings[A].won, standings[A].lost) == (0, 1)


def test_replay_without_widening_what_is_rated():
    """BL-029: m2 is a friendly; m1 becomes void; only m4 is rated."""
    m1, m2, m4 = duel(AT, A, B), duel(AT + HOUR, B, C, FRIENDLY), duel(AT + 2 * HOUR, A, C)

    standings, reasons = replayed([m1._replace(fact=VOID), m2, m4])

    assert reasons == [VOID, FRIENDLY, ""]
    assert set(standings) == {A, C}
    assert elos(standings, A, C) == [1216.0, 1184.0]


def test_replay_of_two_matches_at_once():
    """BL-031: the second to end is rated from what the first left, not from its own start."""
    history = [duel(AT, B, A), duel(AT + timedelta(minutes=10), A, C)]

    standings, _ = replayed(history)

    assert elos(standings, A, B, C) == pytest.approx([1200.7363, 1216.0, 1183.2637], abs=1e-4)


def test_replay_of_a_match_once():
    """BL-033: rated twice it would be 1230.5305."""
    once, _ = replayed([duel(AT, A, B)])
    twice, _ = replayed([duel(AT, A, B)] * 2)

    assert elos(once, A, B) == [1216.0, 1184.0]
    assert twice[A].elo == pytest.approx(1230.5305, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_replay_of_twenty_wins_in_any_order(seed):
    """BL-037: 1417.8939 against twenty newcomers, and nothing lost between them."""
    opponents = Random(seed).sample(range(2, 22), 20)

    replay = Replay()
    outcomes = list(replay.replay([duel(AT, A, opponent) for opponent in opponents]))

    standings = replay.standings
    assert standings[A].elo == pytest.approx(1417.8939, abs=1e-4)
    assert fsum(standing.elo for standing in standings.values()) == pytest.approx(25200, abs=1e-9)
    chain = [outcome.changes[0] for outcome in outcomes]
    assert [change.before for change in chain] == [START, *(change.after for change in chain[:-1])]


def test_replay_of_three_hundred_draws():
    """BL-043: everybody the same, to the last bit."""
    standings, _ = replayed([draw(AT, player, player + 1) for player in range(0, 300, 2)])

    assert len(standings) == 300
    assert {standing.elo for standing in standings.values()} == {1200.0}
    [displayed] = {displayed_rating(s.mu, s.sigma) for s in standings.values()}
    assert displayed == pytest.approx(1518.92, abs=0.01)


def test_replay_of_matches_of_one_day():
    """BL-089: dates without times; the order of the file decides."""
    p3, p9, p17 = 3, 9, 17
    first, second = duel(AT, p3, p17), duel(AT, p9, p17)

    standings, _ = replayed([first, second])
    reversed_standings, _ = replayed([second, first])

    assert elos(standings, p3, p9, p17) == pytest.approx([1216, 1215.2637, 1168.7363], abs=1e-4)
    assert elos(reversed_standings, p3, p9, p17) == pytest.approx(
        [1215.2637, 1216, 1168.7363], abs=1e-4
    )


@pytest.mark.parametrize("pause", [timedelta(0), 31 * DAY, 3650 * DAY])
def test_replay_of_endless_wins_stays_finite(pause):
    replay = Replay()
    for n in range(2000):
        replay.rate(duel(AT + n * timedelta(hours=2) + n * pause / 100, A, B + n % 2))

    winner = replay.standings[A]
    assert winner.lost == 0
    assert 0 < winner.sigma <= 25 / 3
    assert abs(winner.elo) < inf
    assert abs(winner.mu) < inf
