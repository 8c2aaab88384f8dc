"""Generated matches and histories for the tests of the rating systems."""

from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import settings
from hypothesis import strategies as st

from ratings.systems.match import Skill
from ratings.systems.replay import CANCELLED, FRIENDLY, VOID, Entry, PlayedMatch

STARTING_SIGMA = 25 / 3

# The same examples every time: a red test is the doing of the change that turned it red.
repeatable = settings(max_examples=200, deadline=None, derandomize=True, database=None)

# Round values come often, so that equal and opposite ratings meet.
elos = st.floats(-2000, 5000) | st.sampled_from([0.0, 1000.0, 1184.0, 1200.0, 1216.0, 1600.0])
mus = st.floats(-100, 150) | st.sampled_from([0.0, 20.0, 25.0, 30.0])
sigmas = st.floats(0.001, STARTING_SIGMA) | st.sampled_from([1.2, 2.5, STARTING_SIGMA])
skills = st.tuples(elos, mus, sigmas)


@st.composite
def matches(draw, member=skills, max_teams=10, max_members=4):
    """(teams, places): up to ten teams of up to four, the best at 1, with ties and gaps."""
    team = st.lists(member, min_size=1, max_size=max_members)
    teams = draw(st.lists(team, min_size=2, max_size=max_teams))
    size = len(teams)
    places = draw(st.lists(st.integers(1, 2 * size), min_size=size, max_size=size))
    return teams, from_one(places)


def random_match(random: Random) -> tuple[list[list[Skill]], list[int]]:
    """Like `matches`, but with ratings that use all their bits, as those of a history do."""
    size = random.randint(2, 10)
    teams = [
        [
            (random.gauss(1200, 200), random.gauss(25, 8), random.uniform(0.5, STARTING_SIGMA))
            for _ in range(random.choice([1, 1, 2, 3, 4]))
        ]
        for _ in range(size)
    ]
    return teams, from_one([random.randint(1, random.choice([1, 2, 2 * size])) for _ in teams])


def from_one(places: list[int]) -> list[int]:
    return [place - min(places) + 1 for place in places]


FIRST_MATCH_AT = datetime(2026, 1, 1, 18, tzinfo=UTC)
PAUSES = [timedelta(0), timedelta(hours=1), timedelta(hours=23), timedelta(hours=24)]
PAUSES += [timedelta(days=days) for days in (2, 29, 31, 45, 400)]


@st.composite
def histories(draw):
    """A game's history of six players, with sittings long enough for the pair limit."""
    owners = draw(st.fixed_dictionaries({n: st.sampled_from([None, None, "x"]) for n in range(6)}))
    at = FIRST_MATCH_AT
    history = []
    for _ in range(draw(st.integers(1, 8))):
        at += draw(st.sampled_from(PAUSES))
        size = draw(st.integers(2, 6))
        players = draw(st.permutations(range(6)))[:size]
        team_count = draw(st.integers(2, size))
        apart = timedelta(minutes=draw(st.sampled_from([0, 1, 30, 71, 72, 73])))
        for _ in range(draw(st.integers(1, 3) | st.integers(19, 24))):
            at += apart
            places = draw(st.lists(st.integers(1, 3), min_size=team_count, max_size=team_count))
            fact = draw(st.sampled_from([""] * 9 + [VOID, CANCELLED, FRIENDLY]))
            entries = [
                Entry(player, i % team_count, places[i % team_count], owners[player])
                for i, player in enumerate(players)
            ]
            history.append(PlayedMatch(at, entries, fact, len(history)))
    return history
