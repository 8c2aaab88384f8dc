"""The reference values of rating_vectors.json, computed at 60 digits from the papers.

They lie beside the project, in ../shared, and these tests are skipped where they do not.
"""

import json
from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from ratings.systems import decay, elo, openskill
from ratings.systems.match import rate_match
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import Entry, PlayedMatch, Replay

SHARED = Path(__file__).resolve().parents[4] / "shared"
VECTORS = SHARED / "cases" / "rating_vectors.json"

MATCH = Decimal("1e-11")
CHAIN = Decimal("1e-8")
DISPLAY = Decimal("1e-9")
POLICY = Decimal("1e-9")
POLICY_REPLAY = Decimal("1e-6")


def assert_within(tolerance, ours, reference):
    """`reference` is a number, or the text of one with more digits than a double holds."""
    assert abs(Decimal(ours) - Decimal(reference)) <= tolerance, f"{ours!r} is not {reference}"


def check_elo_match(case):
    rated = elo.rate(case["teams"], case["ranks"], elo_parameters(case["params"]))

    for team, expected_team in zip(rated, case["expected"], strict=True):
        for rating, expected in zip(team, expected_team, strict=True):
            assert_within(MATCH, rating, expected["rating"])


def check_openskill_match(case):
    rated = openskill.rate(
        as_beliefs(case["teams"]), case["ranks"], openskill_parameters(case["params"])
    )

    for team, expected_team in zip(rated, case["expected"], strict=True):
        for (mu, sigma), expected in zip(team, expected_team, strict=True):
            assert_within(MATCH, mu, expected["mu"])
            assert_within(MATCH, sigma, expected["sigma"])
            assert_within(DISPLAY, displayed_rating(mu, sigma), expected["display"])


def check_elo_chain(case):
    parameters = elo_parameters(case["params"])
    ratings = [parameters.start] * case["players"]
    checkpoints = {checkpoint["after"]: checkpoint for checkpoint in case["checkpoints"]}

    for number, (players, places) in enumerate(case["matches"], start=1):
        rated = elo.rate([[ratings[player]] for player in players], places, parameters)
        for player, [rating] in zip(players, rated, strict=True):
            ratings[player] = rating
        if number in checkpoints:
            expected = checkpoints.pop(number)["ratings"]
            for rating, expected_rating in zip(ratings, expected, strict=True):
                assert_within(CHAIN, rating, expected_rating)
    assert not checkpoints


def check_openskill_chain(case):
    parameters = openskill_parameters(case["params"])
    beliefs = [(parameters.mu, parameters.sigma)] * case["players"]
    checkpoints = {checkpoint["after"]: checkpoint for checkpoint in case["checkpoints"]}

    for number, (players, places) in enumerate(case["matches"], start=1):
        rated = openskill.rate([[beliefs[player]] for player in players], places, parameters)
        for player, [belief] in zip(players, rated, strict=True):
            beliefs[player] = belief
        if number in checkpoints:
            expected = checkpoints.pop(number)["players"]
            for (mu, sigma), expected_belief in zip(beliefs, expected, strict=True):
                assert_within(CHAIN, mu, expected_belief["mu"])
                assert_within(CHAIN, sigma, expected_belief["sigma"])
    assert not checkpoints


def check_display(case):
    assert_within(DISPLAY, displayed_rating(case["mu"], case["sigma"]), case["expected"])


def check_policy_match(case):
    teams = [
        [(rating, *belief) for rating, belief in zip(elos, beliefs, strict=True)]
        for elos, beliefs in zip(case["elo"], as_beliefs(case["openskill"]), strict=True)
    ]

    rated = rate_match(teams, case["places"])

    for team, elos, beliefs in zip(
        rated, case["elo_expected"], case["openskill_expected"], strict=True
    ):
        for skill, expected_elo, expected in zip(team, elos, beliefs, strict=True):
            assert_within(POLICY, skill[0], expected_elo)
            assert_within(POLICY, skill[1], expected["mu"])
            assert_within(POLICY, skill[2], expected["sigma"])
            # A display value is 24 times the numbers it is made of.
            assert_within(24 * POLICY, displayed_rating(*skill[1:]), expected["display"])


def check_policy_decay(case):
    last_played_at = datetime.fromisoformat(case["last_played_at"])
    at = datetime.fromisoformat(case["at"])

    assert decay.steps(last_played_at, at) == case["steps"]
    assert_within(POLICY, decay.sigma_at(case["sigma"], last_played_at, at), case["expected"])


def check_policy_replay(case):
    matches = [(datetime.fromisoformat(at), *match) for at, *match in case["matches"]]

    assert_replays_to(case["expected"], matches)


def check_policy_real(case):
    with (SHARED / case["file"]).open() as lines:
        reports = [json.loads(line) for line in lines]
    matches = [
        (
            datetime.fromisoformat(report["played_at"]),
            [team["players"] for team in report["teams"]],
            [team["place"] for team in report["teams"]],
        )
        for report in reports
    ]

    assert len(case["expected"]) == case["players"]
    assert_replays_to(case["expected"], matches)


def assert_replays_to(expected, matches):
    """`matches` are (played_at, teams of handles, places); equal times stay in their order."""
    ids = {handle: number for number, handle in enumerate(sorted(expected))}
    history = [
        PlayedMatch(
            at,
            [
                Entry(ids[handle], team, place)
                for team, (handles, place) in enumerate(zip(teams, places, strict=True))
                for handle in handles
            ],
        )
        for at, teams, places in sorted(matches, key=lambda match: match[0])
    ]

    replay = Replay()
    for outcome in replay.replay(history):
        assert outcome.reason == ""

    assert set(replay.standings) == set(ids.values())
    for handle, numbers in expected.items():
        assert set(numbers) == {"elo", "mu", "sigma", "matches"}
        standing = replay.standings[ids[handle]]
        assert_within(POLICY_REPLAY, standing.elo, numbers["elo"])
        assert_within(POLICY_REPLAY, standing.mu, numbers["mu"])
        assert_within(POLICY_REPLAY, standing.sigma, numbers["sigma"])
        assert standing.won + standing.drawn + standing.lost == numbers["matches"]


def as_beliefs(teams):
    return [[(member["mu"], member["sigma"]) for member in team] for team in teams]


def elo_parameters(params):
    assert params.pop("pairs") == "K/(T-1)"
    assert params.pop("team", "mean") == "mean"
    assert params.pop("member_share", "min(n_i,n_j)/n_i") == "min(n_i,n_j)/n_i"
    return elo.Parameters(k=params.pop("K"), **params)


def openskill_parameters(params):
    """The parameters of a case; the paper's where it names none. It never caps sigma."""
    assert params.pop("gamma", "sigma_i/c") == "sigma_i/c"
    return openskill.Parameters(
        mu=params.pop("mu0", 25.0),
        sigma=params.pop("sigma0", 25 / 3),
        team=params.pop("team_mode", "sum"),
        limit_sigma=params.pop("limit_sigma", False),
        cap_sigma=False,
        **params,
    )


CHECKS = {
    ("elo", "match"): check_elo_match,
    ("elo", "chain"): check_elo_chain,
    ("openskill_pl", "match"): check_openskill_match,
    ("openskill_pl", "chain"): check_openskill_chain,
    ("display", "display"): check_display,
    (None, "policy_match"): check_policy_match,
    (None, "policy_decay"): check_policy_decay,
    (None, "policy_replay"): check_policy_replay,
    (None, "policy_real"): check_policy_real,
}


def kind(case):
    return case.get("system"), case["kind"]


def load_cases():
    if VECTORS.exists():
        return json.loads(VECTORS.read_text())["cases"]
    return []


CASES = load_cases()
needs_vectors = pytest.mark.skipif(not CASES, reason=f"{VECTORS.name} is not in ../shared/cases")


@needs_vectors
@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_rating_vector(case):
    """A kind that nothing here can check is an error, not passed over."""
    CHECKS[kind(case)](case)


@needs_vectors
def test_rating_vectors_are_all_there():
    assert Counter(map(kind, CASES)) == {
        ("elo", "match"): 16,
        ("elo", "chain"): 1,
        ("openskill_pl", "match"): 33,
        ("openskill_pl", "chain"): 3,
        ("display", "display"): 3,
        (None, "policy_match"): 30,
        (None, "policy_decay"): 6,
        (None, "policy_replay"): 3,
        (None, "policy_real"): 1,
    }


def test_rating_vector_of_an_unknown_kind():
    with pytest.raises(KeyError):
        test_rating_vector({"id": "x", "system": "glicko", "kind": "match"})


def test_rating_vector_with_a_wrong_number():
    case = {
        "params": {"K": 32, "scale": 400, "pairs": "K/(T-1)"},
        "teams": [[1200], [1600]],
        "ranks": [1, 2],
        "expected": [
            [{"rating": "1229.09090909090909090909090909"}],
            [{"rating": "1570.90909090907"}],
        ],
    }

    with pytest.raises(AssertionError, match=r"is not 1570\.90909090907\n"):
        check_elo_match(case)
