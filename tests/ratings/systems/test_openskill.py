"""OpenSkill: known values first, then what holds for every match, then the openskill package."""

from math import inf, isfinite, nan, sqrt
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openskill.models import PlackettLuce

from ratings.systems import openskill
from ratings.systems.openskill import Parameters, displayed_rating
from tests.ratings.systems.strategies import (
    STARTING_SIGMA,
    from_one,
    matches,
    mus,
    repeatable,
    sigmas,
)

PAPER = Parameters(team="sum", limit_sigma=False, cap_sigma=False)
NEW = (25.0, STARTING_SIGMA)
beliefs = st.tuples(mus, sigmas)

# The values below are known to more digits than a double holds.
exactly = {"rel": 0, "abs": 1e-11}


def flat(teams):
    return [belief for team in teams for belief in team]


def test_parameters_default():
    assert Parameters() == Parameters(
        mu=25.0,
        sigma=25 / 3,
        beta=25 / 6,
        kappa=0.0001,
        tau=0.3,
        team="mean",
        limit_sigma=True,
        cap_sigma=True,
    )


@pytest.mark.parametrize(
    ("mu", "sigma", "displayed"),
    [
        pytest.param(*NEW, 1500.0, id="newcomer"),
        pytest.param(60.0, 2.5, 2760.0, id="strong"),
        pytest.param(22.364610506859503, 8.06590141354368, 1456.00575038948314, id="weak"),
        pytest.param(2.0, 2.0, 1404.0, id="BL-009, low"),
        pytest.param(-70.0, 1.0, -252.0, id="BL-009, no floor"),
        pytest.param(30.0, 2.9, 2011.2, id="BL-075"),
    ],
)
def test_displayed_rating_known_values(mu, sigma, displayed):
    assert displayed_rating(mu, sigma) == pytest.approx(displayed, rel=0, abs=1e-9)


def test_ordinal_is_three_sigmas_below():
    assert openskill.ordinal(30.0, 2.5) == 22.5


@pytest.mark.parametrize(
    ("teams", "places", "after"),
    [
        pytest.param(
            [[(25, 25 / 3)], [(25, 25 / 3)]],
            [1, 2],
            [
                [(27.6372798316677009452824, 8.0706252456799982308180)],
                [(22.3627201683322990547176, 8.0706252456799982308180)],
            ],
            id="newcomers",
        ),
        pytest.param(
            [[(60, 2.5)], [(-10, 2.5)]],
            [1, 2],
            [
                [(60.0000353705320579792905, 2.5179332971058661340196)],
                [(-10.0000353705320579792905, 2.5179332971058661340196)],
            ],
            id="far apart",
        ),
        pytest.param(
            [[(31, 2.6)], [(27.5, 3.4)], [(24, 5.9)], [(19, 2.9)]],
            [2, 4, 1, 3],
            [
                [(31.0842173751908617454870, 2.6096773925046167954103)],
                [(26.1679670694802262114981, 3.3838453214162614563205)],
                [(26.4167595748903891227878, 5.8409819894348865680838)],
                [(19.2787571423233755648213, 2.9040782386632303073263)],
            ],
            id="four, mixed",
        ),
        pytest.param(
            [[(33, 2.2)], [(29, 2.8)], [(26, 8.0)], [(25, 3.0)], [(22, 4.4)], [(15, 2.6)]],
            [1, 1, 3, 3, 3, 6],
            [
                [(33.0777420794281607952574, 2.2196119121463857854852)],
                [(29.1594254558142140346990, 2.8144213284852748621364)],
                [(25.3524410848367564551374, 7.7735621696954707339479)],
                [(24.9277200621354212005845, 3.0105598976158287111592)],
                [(21.9551368417019326332511, 4.3927610668732209331801)],
                [(14.8937482774209097553756, 2.6157793470288071517177)],
            ],
            id="six, ties and gaps",
        ),
        pytest.param(
            [[(28, 3), (22, 6)], [(30, 2.5), (25, 25 / 3)]],
            [1, 2],
            [
                [
                    (28.4361328537102297303463, 3.0035605019032497777628),
                    (23.7315769736416051679679, 5.9167776060650223633859),
                ],
                [
                    (29.6958105288753733234855, 2.5093302529334552092540),
                    (21.6637782522870198452723, 8.0206354709456147682561),
                ],
            ],
            id="pairs, summed",
        ),
    ],
)
def test_rate_known_values_of_the_paper(teams, places, after):
    rated = openskill.rate(teams, places, PAPER)

    assert [pytest.approx(belief, **exactly) for belief in flat(after)] == flat(rated)


@pytest.mark.parametrize(
    ("teams", "places", "after"),
    [
        pytest.param(
            [[NEW], [NEW, NEW, NEW]],
            [1, 2],
            [
                [(28.0798243434235050930125, 7.9074544626635059014977)],
                [(23.9733918855254983023292, 8.3117369008071983077786)] * 3,
            ],
            id="newcomers",
        ),
        pytest.param(
            [[(30, 2.5)], [(28, 3), (22, 6), (25, 25 / 3)]],
            [1, 2],
            [
                [(30.2903174181417256530360, 2.5065515150357683808244)],
                [
                    (27.8612520856515096641990, 3.0118890558596530315101),
                    (21.4491295677847066862701, 5.9831426885044535737953),
                    (23.9386403584106007893136, 8.2734806251807977363404),
                ],
            ],
            id="unequal",
        ),
    ],
)
def test_rate_known_values_of_mean_teams(teams, places, after):
    parameters = Parameters(limit_sigma=False)

    rated = openskill.rate(teams, places, parameters)

    assert [pytest.approx(belief, **exactly) for belief in flat(after)] == flat(rated)


@pytest.mark.parametrize(
    ("tau", "after"),
    [
        (0.0, (27.2774337113885215082443, 1.9932850712248356490905)),
        (1 / 12, (27.2778754846010193745810, 1.9950002121082558414310)),
        (1.0, (27.3398439966750035113735, 2.2262382471025183045937)),
    ],
)
def test_rate_with_other_tau(tau, after):
    parameters = Parameters(tau=tau, team="sum", limit_sigma=False, cap_sigma=False)

    [[winner], _] = openskill.rate([[(27.0, 2.0)], [(26.0, 2.4)]], [1, 2], parameters)

    assert winner == pytest.approx(after, **exactly)


def test_rate_with_other_beta():
    parameters = Parameters(beta=1.0, tau=0.0, team="sum")

    [[winner], _] = openskill.rate([[(25.0, 1.0)], [(25.0, 1.0)]], [1, 2], parameters)

    # c is 2, and even odds: mu moves by 1/2 / c, variance shrinks by 1/4 / c^2 * sigma/c.
    assert winner == pytest.approx((25.25, sqrt(1 - 1 / 32)), **exactly)


@pytest.mark.parametrize(
    ("teams", "places", "after"),
    [
        pytest.param(
            [[NEW], [NEW]],
            [1, 1],
            [(25, 8.070625, 1518.91), (25, 8.070625, 1518.91)],
            id="BL-011",
        ),
        pytest.param(
            [[(35, 1.2)], [(20, 1.2)]],
            [1, 2],
            [(35.019950, 1.2, 2254.08), (19.980050, 1.2, 1893.12)],
            id="BL-013",
        ),
        pytest.param(
            [[(0.0, 4.0)], [NEW]],
            [1, 2],
            [(1.330456, 4.0, 1243.93), (19.250309, 8.182989, 1372.83)],
            id="BL-015",
        ),
        pytest.param(
            [[(28, 4)], [NEW], [(22, 3)], [(30, 6)]],
            [4, 1, 3, 1],
            [
                (26.998222, 3.991122, 1860.60),
                (26.357342, 8.189206, 1542.95),
                (22.271988, 3.0, 1818.53),
                (30.462631, 5.957394, 1802.17),
            ],
            id="BL-017",
        ),
        pytest.param(
            [[NEW], [NEW], [NEW], [NEW]],
            [1, 2, 3, 4],
            [
                (27.797258, 8.268486, 1571.80),
                (26.554032, 8.184452, 1548.02),
                (24.689194, 8.088869, 1510.14),
                (20.959517, 8.088869, 1420.63),
            ],
            id="BL-021",
        ),
    ],
)
def test_rate_public_report(teams, places, after):
    rated = flat(openskill.rate(teams, places))

    assert rated == [pytest.approx(belief, rel=0, abs=1e-6) for *belief, _ in after]
    assert [displayed_rating(*belief) for belief in rated] == [
        pytest.approx(displayed, rel=0, abs=0.01) for *_, displayed in after
    ]


@pytest.mark.parametrize(
    ("gaps", "places"),
    [
        ([2, 3], [1, 2]),
        ([1, 2_147_483_647], [1, 2]),
        ([1, 1, 3], [1, 1, 2]),
        ([7, 4, 4, 9], [2, 1, 1, 3]),
    ],
)
def test_rate_with_gaps_between_places(gaps, places):
    """BL-119: places only order the teams."""
    teams = [[(28.0, 4.0)], [NEW], [(22.0, 3.0)], [(30.0, 6.0)]][: len(places)]

    assert openskill.rate(teams, gaps) == openskill.rate(teams, places)


def test_rate_never_shrinks_below_kappa():
    teams = [[(25.0, 0.5)]] * 9 + [[(25.0, 500.0)]]

    rated = openskill.rate(teams, range(1, 11), PAPER)

    assert rated[-1][0][1] == pytest.approx(sqrt((500**2 + 0.09) * 0.0001), rel=1e-12)


def test_rate_caps_sigma():
    [[winner], [loser]] = openskill.rate([[(90.0, 9.0)], [(25.0, 9.0)]], [1, 2])

    assert winner[1] == 25 / 3
    assert loser[1] == 25 / 3


def test_rate_caps_sigma_without_limit():
    parameters = Parameters(limit_sigma=False)

    [[winner], [loser]] = openskill.rate([[(200.0, 8.33)], [(25.0, 2.0)]], [1, 2], parameters)

    assert winner[1] == 25 / 3
    assert loser[1] == pytest.approx(sqrt(4.09), abs=1e-4)


def test_rate_at_the_cap():
    """BL-073: a match of somebody whose uncertainty has fully come back."""
    [[winner], [loser]] = openskill.rate([[NEW], [NEW]], [1, 2])

    assert winner[1] == loser[1] == pytest.approx(8.0706252456799982308180, **exactly)


@pytest.mark.parametrize("places", [[1], [1, 2, 3]])
def test_rate_with_another_number_of_places(places):
    with pytest.raises(ValueError, match=rf"Unexpected {len(places)} places for 2 teams\."):
        openskill.rate([[NEW], [NEW]], places)


NOT_FINITE = [(nan, 8.0), (inf, 8.0), (-inf, 8.0), (25.0, nan), (25.0, inf), (25.0, -inf)]


@pytest.mark.parametrize("wrong", NOT_FINITE)
@pytest.mark.parametrize("places", [[1, 2, 3], [3, 1, 2], [2, 2, 1], [1, 1, 1]])
@pytest.mark.parametrize("parameters", [openskill.PARAMETERS, PAPER])
def test_rate_refuses_what_is_not_finite(wrong, places, parameters):
    message = r"Unexpected ratings .*: every mu and sigma has to be finite\."

    for teams in ([[wrong], [NEW], [NEW]], [[NEW], [NEW, wrong, NEW], [NEW]]):
        with pytest.raises(ValueError, match=message):
            openskill.rate(teams, places, parameters)


@pytest.mark.parametrize("wrong", NOT_FINITE)
def test_chances_refuse_what_is_not_finite(wrong):
    message = r"Unexpected ratings .*: every mu and sigma has to be finite\."

    for teams in ([[wrong], [NEW]], [[NEW], [NEW, wrong, NEW]]):
        with pytest.raises(ValueError, match=message):
            openskill.chances(teams)


@repeatable
@given(matches(st.tuples(st.floats(-1e9, 1e9) | mus, sigmas)))
@example(([[(5000.0, 3.0)], [(0.0, 3.0)]], [1, 2]))
@example(([[(0.0, 3.0)], [(2500.0, 3.0)], [(-2500.0, 3.0)]], [1, 2, 3]))
def test_rate_answers_finite_numbers(match):
    teams, places = match

    rated = openskill.rate(teams, places)

    assert all(isfinite(mu) and 0 < sigma <= STARTING_SIGMA for mu, sigma in flat(rated))


@pytest.mark.parametrize("apart", [200, 299, 301, 400, 1000, 100_000])
def test_rate_of_an_upset_beyond_the_range_of_a_double(apart):
    """The odds are one in e^1000 and less: the step is at its largest, and the same for both."""
    c = sqrt(2 * (9.09 + (25 / 6) ** 2))
    teams = [[(apart * c, 3.0)], [(0.0, 3.0)]]

    [[strong], [weak]] = openskill.rate(teams, [2, 1])

    assert weak == (pytest.approx(9.09 / c, **exactly), 3.0)
    assert strong == (pytest.approx((apart * c) - 9.09 / c, rel=1e-14), 3.0)


@pytest.mark.parametrize("apart", [299, 301, 400, 1000, 100_000])
@pytest.mark.parametrize("parameters", [openskill.PARAMETERS, PAPER])
def test_rate_of_two_beside_one_beyond_the_range_of_a_double(apart, parameters):
    """The two are rated against each other all the same."""
    c = sqrt(3 * (25 / 6) ** 2 + 9.09 + 2 * (NEW[1] ** 2 + 0.09))

    [_, *far] = openskill.rate([[(25 + apart * c, 3.0)], [NEW], [NEW]], [1, 2, 3], parameters)
    [_, *near] = openskill.rate([[(25 + 100 * c, 3.0)], [NEW], [NEW]], [1, 2, 3], parameters)

    assert flat(far) == [pytest.approx(belief, **exactly) for belief in flat(near)]
    assert far[0][0][0] > 25 > far[1][0][0]
    assert far[0][0][1] == far[1][0][1] < 8.2


@repeatable
@given(matches(beliefs))
def test_rate_never_lowers_the_displayed_rating_of_a_sole_winner(match):
    teams, places = match
    places = [1] + [place + 1 for place in places[1:]]

    rated = openskill.rate(teams, places)

    for old, new in zip(teams[0], rated[0], strict=True):
        assert new[0] >= old[0]
        assert displayed_rating(*new) >= displayed_rating(*old)


@repeatable
@given(matches(beliefs))
def test_rate_never_raises_sigma(match):
    teams, places = match

    rated = openskill.rate(teams, places)

    for (_, old), (_, new) in zip(flat(teams), flat(rated), strict=True):
        assert 0 < new <= old <= STARTING_SIGMA


@repeatable
@given(matches(beliefs), st.data())
def test_rate_by_order_of_places_alone(match, data):
    teams, places = match
    steps = data.draw(st.lists(st.integers(1, 1000), min_size=21, max_size=21))
    apart = [sum(steps[:place]) for place in places]

    assert openskill.rate(teams, apart) == openskill.rate(teams, places)


@repeatable
@given(matches(beliefs))
def test_rate_moves_team_mates_by_their_variance(match):
    teams, places = match

    rated = openskill.rate(teams, places)

    for before, after in zip(teams, rated, strict=True):
        steps = [
            (new - old) / (sigma * sigma + 0.09)
            for (old, sigma), (new, _) in zip(before, after, strict=True)
        ]
        # The rounding of a mu below 256, over a variance of at least tau squared.
        assert steps == pytest.approx([steps[0]] * len(steps), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("teams", "parameters", "chances"),
    [
        ([[NEW], [NEW]], openskill.PARAMETERS, [0.5, 0.5]),
        (
            [[NEW], [(29.0, 2.55)]],
            openskill.PARAMETERS,
            [0.406145850749058161, 0.593854149250941838],
        ),
        (
            [[(30.0, 2.5)], [(28.0, 3.0), (22.0, 6.0), NEW], [(15.0, 2.6)]],
            openskill.PARAMETERS,
            [0.571178829162638533, 0.324288696634638436, 0.104532474202723029],
        ),
        (
            [[(30.0, 2.5)], [(28.0, 3.0), (22.0, 6.0), NEW], [(15.0, 2.6)]],
            PAPER,
            [0.033388914844153320, 0.955695932176988701, 0.010915152978857977],
        ),
        ([[(1e6, 2.5)], [(-1e6, 2.5)]], openskill.PARAMETERS, [1.0, 0.0]),
    ],
)
def test_chances_known_values(teams, parameters, chances):
    assert openskill.chances(teams, parameters) == pytest.approx(chances, rel=1e-13)


@repeatable
@given(matches(beliefs))
def test_chances_sum_to_one_and_follow_the_mean(match):
    teams, _ = match

    chances = openskill.chances(teams)

    assert sum(chances) == pytest.approx(1, abs=1e-14)
    means = [sum(mu for mu, _ in team) / len(team) for team in teams]
    for i, chance in enumerate(chances):
        for j, other in enumerate(chances):
            # Where means agree to the last digits, so do the chances.
            assert chance >= other * (1 - 1e-12) or means[i] < means[j]


@repeatable
@given(matches(beliefs), st.floats(0.5, 20))
def test_chances_rise_with_mu(match, more):
    teams, _ = match
    stronger = [[(mu + more, sigma) for mu, sigma in teams[0]], *teams[1:]]

    assert openskill.chances(stronger)[0] >= openskill.chances(teams)[0]


@repeatable
@given(matches(beliefs))
def test_rate_moves_mu_by_what_chances_did_not_expect(match):
    """The first step of the paper, before anybody is taken out of the race: S - chance."""
    teams, _ = match
    places = [1] + [2] * (len(teams) - 1)

    rated = openskill.rate(teams, places)

    c = sqrt(
        sum(
            (25 / 6) ** 2 + sum(sigma**2 + 0.09 for _, sigma in team) / len(team) ** 2
            for team in teams
        )
    )
    (old, sigma), (new, _) = teams[0][0], rated[0][0]
    step = (sigma**2 + 0.09) / len(teams[0]) / c * (1 - openskill.chances(teams)[0])
    assert new - old == pytest.approx(step, rel=0, abs=1e-12)


def lopsided_match(random: Random):
    """(teams, places) far outside of what happens: uncertain, certain, far apart."""
    spread = random.choice([0, 3, 15, 200])
    largest_sigma = random.choice([1, STARTING_SIGMA, 25, 500])
    size = random.choice([2, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    teams = [
        [
            (25 + random.uniform(-spread, spread), random.uniform(0.001, largest_sigma))
            for _ in range(random.choice([1, 1, 2, 3, 4]))
        ]
        for _ in range(size)
    ]
    highest = random.choice([1, 2, size, 3 * size])
    return teams, from_one([random.randint(1, highest) for _ in teams])


def oracle_rate(model, teams, places):
    ratings = [[model.rating(mu=mu, sigma=sigma) for mu, sigma in team] for team in teams]
    rated = model.rate(ratings, ranks=[float(place) for place in places])
    return [[(rating.mu, rating.sigma) for rating in team] for team in rated]


def assert_agrees(rated, oracle, teams):
    """To 1e-13 of the numbers that go into a sum.

    Both add up to forty members, in different orders: that is a few units of the sixteenth digit
    (1.2e-15 at the most was seen). A slip in a formula shows from the third digit on.
    """
    for before, ours, theirs in zip(flat(teams), flat(rated), flat(oracle), strict=True):
        size = max(1, abs(before[0]), abs(theirs[0]), before[1])
        assert ours == pytest.approx(theirs, rel=0, abs=1e-13 * size)


def test_rate_agrees_with_the_openskill_package():
    random = Random(2011)
    model = PlackettLuce(mu=25.0, sigma=25 / 3, beta=25 / 6, kappa=0.0001, tau=0.3)

    for _ in range(20_000):
        teams, places = lopsided_match(random)
        oracle = oracle_rate(model, teams, places)
        rated = openskill.rate(teams, places, PAPER)
        assert_agrees(rated, oracle, teams)


def test_rate_of_mean_teams_agrees_with_the_openskill_package():
    """A mean of n members is a sum of members of an n-th each, tau added beforehand."""
    random = Random(2012)
    model = PlackettLuce(mu=25.0, sigma=25 / 3, beta=25 / 6, kappa=0.0001, tau=0.0)

    for _ in range(3_000):
        teams, places = lopsided_match(random)
        shares = [
            [(mu / len(team), sqrt(sigma**2 + 0.09) / len(team)) for mu, sigma in team]
            for team in teams
        ]
        oracle = [
            [
                (mu * len(team), min(sigma * len(team), old, 25 / 3))
                for (mu, sigma), (_, old) in zip(share, team, strict=True)
            ]
            for share, team in zip(oracle_rate(model, shares, places), teams, strict=True)
        ]
        rated = openskill.rate(teams, places)
        assert_agrees(rated, oracle, teams)


@given(matches(beliefs))
def test_working_leads_to_what_rate_says(match):
    teams, places = match
    working = openskill.working(teams, places)

    rated = openskill.rate(teams, places)

    assert working.chances == openskill.chances(teams)
    for team, after, step, wide, free in zip(
        teams, rated, working.steps, working.wide, working.free, strict=True
    ):
        for (mu, sigma), (new_mu, new_sigma), wide_sigma, free_sigma in zip(
            team, after, wide, free, strict=True
        ):
            assert new_mu == pytest.approx(mu + wide_sigma**2 * step.omega, rel=1e-9, abs=1e-9)
            assert new_sigma == min(free_sigma, sigma, openskill.PARAMETERS.sigma)
            assert wide_sigma > sigma


@pytest.mark.parametrize(
    ("belief", "other", "chance"),
    [
        ((25.0, 3.0), (25.0, 8.0), 0.5),
        ((30.0, 3.0), (25.0, 4.0), 0.8413447460685429),  # one deviation of the difference
        ((25.0, 4.0), (30.0, 3.0), 0.15865525393145707),
        ((90.0, 3.0), (25.0, 3.0), 1.0),
    ],
)
def test_chance_that_one_is_the_stronger(belief, other, chance):
    assert openskill.chance_stronger(belief, other) == pytest.approx(chance, abs=1e-12)
