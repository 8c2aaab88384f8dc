from dataclasses import asdict

import pytest

from ratings.systems import convergence, elo, openskill


@pytest.fixture(scope="module")
def kept():
    return convergence.read_figures()


def test_kept_figures_are_those_of_the_code(kept):
    """After a change of a rule: python -m ratings.systems.convergence."""
    computed = convergence.compute_figures()

    assert kept.parameters == computed.parameters == convergence.parameters()
    assert list(kept.gaps) == list(computed.gaps)
    assert [table.matches for table in kept.tables] == [table.matches for table in computed.tables]
    # Another mathematics library may differ in the last bits.
    assert [table.sigma for table in kept.tables] == pytest.approx(
        [table.sigma for table in computed.tables], abs=1e-6
    )
    assert kept.swing == pytest.approx(computed.swing, abs=1e-6)


def test_elo_of_a_much_stronger_newcomer_is_where_the_expected_moves_lead(kept):
    """Without chance: each match moves by K times what score and expectation differ on average."""
    rating = start = elo.PARAMETERS.start
    truth = start + 400
    matches = 0
    while truth - rating > convergence.NEAR:
        rating += elo.PARAMETERS.k * (
            elo.expected_score(truth, start) - elo.expected_score(rating, start)
        )
        matches += 1

    [gap] = [gap for gap in kept.gaps if gap.points == 400]

    assert matches == 57
    assert gap.near == pytest.approx(matches, abs=3)


def test_swing_is_near_what_theory_says(kept):
    """K / (8 * slope) is the variance of one who meets opponents that stand still."""
    slope = 2.302585 / elo.PARAMETERS.scale / 4
    one_sided = (elo.PARAMETERS.k / 8 / slope) ** 0.5

    assert one_sided < kept.swing < 1.1 * one_sided


def test_sigma_settles_below_what_a_newcomer_has(kept):
    two, four = kept.tables

    assert (two.players, four.players) == (2, 4)
    assert 2.5 < two.sigma < four.sigma < openskill.PARAMETERS.sigma
    assert 80 < two.matches < four.matches < 200


def test_more_to_gain_takes_longer(kept):
    elos = [gap.elo for gap in kept.gaps]
    openskills = [gap.openskill for gap in kept.gaps]

    assert elos == sorted(elos)
    assert openskills == sorted(openskills)
    assert all(gap.openskill > gap.elo > gap.near for gap in kept.gaps)
    assert asdict(kept)["gaps"][0]["points"] == 100
