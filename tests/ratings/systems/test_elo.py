"""Elo: known values first, then what holds for a match of any shape."""

from math import fsum, inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.systems import elo
from tests.ratings.systems.strategies import elos, matches, repeatable

# The values below are known to more digits than a double holds.
exactly = {"rel": 0, "abs": 1e-11}


def flat(teams):
    return [rating for team in teams for rating in team]


def test_parameters_default():
    assert elo.Parameters() == elo.Parameters(start=1200.0, k=32.0, scale=400.0)


@pytest.mark.parametrize(
    ("rating", "opponent", "score"),
    [
        (1200, 1200, 0.5),
        (1200, 1600, 1 / 11),
        (1600, 1200, 10 / 11),
        (1200, 2000, 1 / 101),
        (1802, 1186, 0.9719681328483034),
        (-6, 26, 0.4540780772195162),
    ],
)
def test_expected_score_of_known_gaps(rating, opponent, score):
    assert elo.expected_score(rating, opponent) == pytest.approx(score, abs=1e-13)


def test_expected_score_beyond_the_powers_of_ten():
    assert elo.expected_score(0, 123_200) == pytest.approx(1e-308, rel=1e-12, abs=0)
    assert elo.expected_score(0, 123_201) == 0.0
    assert elo.expected_score(0, 1e300) == 0.0
    assert elo.expected_score(123_201, 0) == 1.0
    assert elo.expected_score(1e300, 0) == 1.0


def test_expected_score_with_other_scale():
    assert elo.expected_score(1000, 1200, elo.Parameters(scale=200.0)) == 1 / 11


@repeatable
@given(elos, elos)
def test_expected_score_of_both_sides(rating, opponent):
    score = elo.expected_score(rating, opponent)

    assert 0 <= score <= 1
    assert score + elo.expected_score(opponent, rating) == pytest.approx(1, abs=1e-15)
    assert score >= 0.5 if rating >= opponent else score <= 0.5


def test_team_rating_is_the_mean():
    assert elo.team_rating([1500, 1200, 900, 1000]) == 1150


@pytest.mark.parametrize(
    ("teams", "places", "after"),
    [
        pytest.param([[1200], [1200]], [1, 2], [[1216], [1184]], id="equal"),
        pytest.param([[1200], [1200]], [1, 1], [[1200], [1200]], id="equal, draw"),
        pytest.param(
            [[1200], [1600]],
            [1, 1],
            [[1213.0909090909090909], [1586.9090909090909091]],
            id="400 apart, draw",
        ),
        pytest.param(
            [[1500], [1320], [1200], [1010]],
            [2, 4, 1, 3],
            [
                [1494.3369394401955352],
                [1300.9676538438308913],
                [1218.8381525812721400],
                [1015.8572541347014334],
            ],
            id="four",
        ),
        pytest.param(
            [[4000], [100], [1200], [1200]],
            [4, 1, 2, 3],
            [
                [3968.0000021352299514],
                [131.9621307128592271],
                [1205.3522669092887441],
                [1194.6856002426220774],
            ],
            id="four, far apart",
        ),
        pytest.param(
            [[1700], [1500], [1400], [1250], [1100], [900]],
            [1, 1, 1, 4, 4, 6],
            [
                [1696.8098901635391815],
                [1502.7707313615130918],
                [1406.3354893538117047],
                [1245.8798149641191098],
                [1101.0950143914991430],
                [897.1090597655177691],
            ],
            id="six, ties and gaps",
        ),
        pytest.param(
            [[1300, 1100], [1250, 1350], [1200, 1200]],
            [2, 1, 3],
            [
                [1302.2410399968461613, 1102.2410399968461613],
                [1261.5179200063076774, 1361.5179200063076774],
                [1186.2410399968461613, 1186.2410399968461613],
            ],
            id="three pairs",
        ),
        pytest.param(
            [[1400], [1200, 1300, 1100]],
            [2, 1],
            [
                [1375.6880983472653487],
                [1208.1039672175782171, 1308.1039672175782171, 1108.1039672175782171],
            ],
            id="one against three",
        ),
        pytest.param(
            # Each pair of the three teams weighs 16, and 1200 expects 0.35994 against 1300.
            [[1200, 1200], [1300, 1300, 1300], [1200]],
            [1, 2, 2],
            [
                [1200 + 10.2410399968461613 + 4] * 2,
                [1300 - 10.2410399968461613 * 2 / 3 - 2.2410399968461613 / 3] * 3,
                [1200 + 2.2410399968461613 - 8],
            ],
            id="two, three and one",
        ),
    ],
)
def test_rate_known_values(teams, places, after):
    rated = elo.rate(teams, places)

    assert [pytest.approx(team, **exactly) for team in after] == rated


@pytest.mark.parametrize(
    ("teams", "places", "after"),
    [
        pytest.param(
            [[1200]] * 8,
            [1, 2, 3, 4, 5, 6, 7, 8],
            [1216, 1211.4286, 1206.8571, 1202.2857, 1197.7143, 1193.1429, 1188.5714, 1184],
            id="BL-001",
        ),
        pytest.param([[1802], [1186]], [1, 2], [1802.8970, 1185.1030], id="BL-003"),
        pytest.param(
            [[1300], [1200], [1100]], [3, 1, 2], [1277.6030, 1216, 1106.3970], id="BL-005"
        ),
        pytest.param(
            [[1200], [1100], [1300]], [1, 2, 3], [1216, 1106.3970, 1277.6030], id="BL-005, relisted"
        ),
        pytest.param([[1200], [1600]], [1, 2], [1229.0909, 1570.9091], id="BL-007, upset"),
        pytest.param([[1600], [1200]], [1, 2], [1602.9091, 1197.0909], id="BL-007, expected"),
        pytest.param([[1200], [1400]], [1, 2], [1224.3119, 1375.6881], id="BL-007, 200 points"),
        pytest.param([[10], [10]], [2, 1], [-6, 26], id="BL-009"),
        pytest.param([[0], [1200]], [2, 1], [-0.0320, 1200.0320], id="BL-015"),
        pytest.param([[1400, 1200], [1300, 1300]], [1, 2], [1416, 1216, 1284, 1284], id="BL-019"),
        pytest.param([[1200], [1200]], [1, 1], [1200, 1200], id="BL-137"),
    ],
)
def test_rate_public_report(teams, places, after):
    rated = flat(elo.rate(teams, places))

    assert rated == pytest.approx(after, rel=0, abs=1e-4)


def test_rate_with_other_parameters():
    parameters = elo.Parameters(k=16.0, scale=200.0)

    rated = elo.rate([[1000], [1200], [1000]], [1, 2, 3], parameters)

    # Each of the three pairs weighs 8.
    assert flat(rated) == pytest.approx(
        [1000 + 8 * 10 / 11 + 4, 1200 - 8 * 10 / 11 + 8 / 11, 1000 - 4 - 8 / 11], **exactly
    )


@repeatable
@given(matches(elos))
def test_rate_sums_to_zero(match):
    teams, places = match

    rated = elo.rate(teams, places)

    # Each of up to 40 ratings below 8192 is rounded to half of 2^-40 when it is stored.
    assert fsum(flat(rated) + [-rating for rating in flat(teams)]) == pytest.approx(0, abs=1e-10)


@repeatable
@given(matches(elos))
def test_rate_moves_nobody_by_more_than_k(match):
    teams, places = match

    rated = elo.rate(teams, places)

    # The same rounding as above.
    changes = [new - old for new, old in zip(flat(rated), flat(teams), strict=True)]
    assert max(map(abs, changes)) <= 32 + 1e-11


@repeatable
@given(elos, st.tuples(elos, elos, elos), st.sampled_from([(1, 2), (2, 1), (1, 1)]))
def test_rate_one_against_three(one, three, places):
    [[alone], [mean]] = elo.rate([[one], [elo.team_rating(three)]], places)

    rated = elo.rate([[one], three], places)

    assert rated[0] == [alone]
    third = (mean - elo.team_rating(three)) / 3
    assert rated[1] == pytest.approx([rating + third for rating in three], rel=0, abs=1e-11)


@repeatable
@given(matches(elos))
def test_rate_moves_team_mates_alike(match):
    teams, places = match

    rated = elo.rate(teams, places)

    for before, after in zip(teams, rated, strict=True):
        first = after[0] - before[0]
        assert after == pytest.approx([rating + first for rating in before], rel=0, abs=1e-11)


@repeatable
@given(matches(elos))
def test_rate_never_lowers_a_sole_winner(match):
    teams, places = match
    places = [1] + [place + 1 for place in places[1:]]

    rated = elo.rate(teams, places)

    assert all(new >= old for new, old in zip(rated[0], teams[0], strict=True))


@pytest.mark.parametrize("wrong", [nan, inf, -inf])
@pytest.mark.parametrize("teams", [[["?"], [1200]], [[1200, "?"], [1200, 1300]], [["?"], ["?"]]])
def test_rate_refuses_what_is_not_finite(teams, wrong):
    teams = [[wrong if rating == "?" else rating for rating in team] for team in teams]

    with pytest.raises(ValueError, match=r"Unexpected ratings .*: every Elo has to be finite\."):
        elo.rate(teams, [1, 2])


def test_rate_refuses_opposite_infinities():
    with pytest.raises(ValueError, match="every Elo has to be finite"):
        elo.rate([[inf], [1200], [-inf]], [1, 2, 3])


@repeatable
@given(matches(st.floats(-1e15, 1e15)))
def test_rate_answers_finite_numbers(match):
    teams, places = match

    rated = elo.rate(teams, places)

    assert all(abs(rating) < inf for rating in flat(rated))


@given(matches(elos))
def test_pairs_add_up_to_what_rate_moves(match):
    teams, places = match
    ratings = [elo.team_rating(team) for team in teams]

    received = [0.0] * len(teams)
    for first, second, _score, _expected, transfer in elo.pairs(ratings, places):
        received[first] += transfer * elo.member_share(len(teams[first]), len(teams[second]))
        received[second] -= transfer * elo.member_share(len(teams[second]), len(teams[first]))

    for team, moved, change in zip(teams, elo.rate(teams, places), received, strict=True):
        for before, after in zip(team, moved, strict=True):
            assert after - before == pytest.approx(change, abs=1e-6)


def test_pair_has_score_expected_score_and_transfer():
    [pair] = elo.pairs([1600.0, 1200.0], [2, 1])

    assert pair == (0, 1, 0.0, pytest.approx(10 / 11), pytest.approx(-320 / 11))


def test_all_pairs_of_a_team_weigh_k():
    assert [elo.pair_weight(teams) * (teams - 1) for teams in (2, 3, 5, 10)] == [32.0] * 4


@pytest.mark.parametrize(("size", "other", "share"), [(1, 3, 1.0), (3, 1, 1 / 3), (2, 2, 1.0)])
def test_member_of_the_larger_team_moves_by_his_share(size, other, share):
    assert elo.member_share(size, other) == share


def test_surplus_is_the_score_beyond_the_expected_one():
    change = elo.rate([[1400.0], [1200.0]], [1, 2])[0][0] - 1400

    assert elo.surplus(change) == pytest.approx(1 - elo.expected_score(1400, 1200))
