"""One match under both systems, and its independence of how a report lists it."""

from math import inf, nan
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.systems import elo, openskill
from ratings.systems.match import START, rate_match
from tests.ratings.systems.strategies import elos, matches, mus, random_match, repeatable, sigmas


def bits(rated):
    """Every number by its bits: -0.0 is not 0.0 here."""
    return [[tuple(number.hex() for number in skill) for skill in team] for team in rated]


def relisted(teams, places, team_order, member_orders):
    """The same match, listed in another order; and its result, back in the first order."""
    listed = [[teams[i][m] for m in member_orders[i]] for i in team_order]
    rated = rate_match(listed, [places[i] for i in team_order])
    back = [[START] * len(team) for team in teams]
    for i, team in zip(team_order, rated, strict=True):
        for m, skill in zip(member_orders[i], team, strict=True):
            back[i][m] = skill
    return back


def test_start():
    assert START == (1200.0, 25.0, 25 / 3)


def test_rate_match_newcomers():
    [[winner], [loser]] = rate_match([[START], [START]], [1, 2])

    assert winner == (1216.0, pytest.approx(27.6372798316677009), pytest.approx(8.0706252456799982))
    assert loser == (1184.0, pytest.approx(22.3627201683322990), pytest.approx(8.0706252456799982))


def test_rate_match_in_the_shape_of_the_report():
    """The best is listed last and the members from strong to weak: nothing is in sorted order."""
    teams = [
        [(1300.0, 24.0, 3.0), (1200.0, 29.0, 2.5), (1100.0, 25.0, 6.0)],
        [(1500.0, 33.0, 2.0)],
        [(1250.0, 26.0, 7.0), (1150.0, 21.0, 4.0)],
    ]
    places = [3, 2, 1]

    rated = rate_match(teams, places)

    elos = elo.rate([[skill[0] for skill in team] for team in teams], places)
    beliefs = openskill.rate([[skill[1:] for skill in team] for team in teams], places)
    for team, team_elos, team_beliefs in zip(rated, elos, beliefs, strict=True):
        assert [skill[0] for skill in team] == pytest.approx(team_elos, rel=1e-14)
        assert [skill[1:] for skill in team] == [pytest.approx(b, rel=1e-14) for b in team_beliefs]


@repeatable
@given(matches(), st.data())
def test_rate_match_whatever_the_listing_order(match, data):
    teams, places = match
    team_order = data.draw(st.permutations(range(len(teams))))
    member_orders = [data.draw(st.permutations(range(len(team)))) for team in teams]

    assert bits(relisted(teams, places, team_order, member_orders)) == bits(
        rate_match(teams, places)
    )


@repeatable
@given(
    matches(
        st.tuples(
            st.sampled_from([1200.0, 1000.1]),
            st.sampled_from([25.0, 20.1]),
            st.sampled_from([25 / 3, 3.3]),
        )
    ),
    st.data(),
)
def test_rate_match_whatever_the_listing_order_of_equals(match, data):
    """Equal in Elo, in mu or in both: the later values decide, and where all are equal nobody."""
    teams, places = match
    team_order = data.draw(st.permutations(range(len(teams))))
    member_orders = [data.draw(st.permutations(range(len(team)))) for team in teams]

    assert bits(relisted(teams, places, team_order, member_orders)) == bits(
        rate_match(teams, places)
    )


def test_rate_match_whatever_the_listing_order_of_ratings_with_all_their_bits():
    random = Random(32)

    for _ in range(2000):
        teams, places = random_match(random)
        team_order = random.sample(range(len(teams)), len(teams))
        member_orders = [random.sample(range(len(team)), len(team)) for team in teams]
        back = relisted(teams, places, team_order, member_orders)
        assert bits(back) == bits(rate_match(teams, places))


def test_rate_match_of_equal_teams_at_equal_places():
    pair = [(1210.7, 26.3, 4.1), (1190.1, 23.9, 5.3)]
    other = [(1333.3, 28.1, 2.9)]

    rated = rate_match([pair, other, pair[::-1], pair], [2, 1, 2, 2])

    assert bits([rated[0]]) == bits([rated[2][::-1]]) == bits([rated[3]])


@repeatable
@given(matches(st.tuples(elos, mus, sigmas)))
def test_rate_match_leaves_its_input_alone(match):
    teams, places = match
    copy = [list(team) for team in teams]
    places_copy = list(places)

    rate_match(teams, places)

    assert teams == copy
    assert places == places_copy


@pytest.mark.parametrize("wrong", [nan, inf, -inf])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_rate_match_refuses_what_is_not_finite(wrong, position):
    skill = list(START)
    skill[position] = wrong

    for teams in ([[tuple(skill)], [START]], [[START], [START, tuple(skill), START]]):
        with pytest.raises(ValueError, match="has to be finite"):
            rate_match(teams, [1, 2])
