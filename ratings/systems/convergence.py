"""How long ratings take to find a strength: simulated once, with the figures kept beside this file.

A page may not simulate for seconds. `python -m ratings.systems.convergence` computes the figures
anew and writes them to convergence.json, which a test compares with the code.

Players have a true strength on the scale of Elo that fixes how often they win; there are no
draws. Opponents are settled and stay as they are, but where a whole room is simulated. Every
figure is read off the mean of many histories, drawn by a seeded generator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from random import Random
from typing import Any

from ratings.systems import elo, openskill
from ratings.systems.openskill import Belief, displayed_rating

KEPT_IN = Path(__file__).with_suffix(".json")

SEED = 1200
RUNS = 1000
TABLE_RUNS = 100
"""Sigma hardly depends on who wins."""
LONGEST = 400
"""Matches of each history: by then nothing moves but by chance."""
GAPS = (100, 200, 400)
NEAR = 100
"""Points of Elo within which a rating counts as close to the truth."""
MOST_OF_THE_WAY = 0.9
NEARLY_SETTLED = 1.1
ROOM = 40
ROOM_ROUNDS = 2000
TABLES = (2, 4)


@dataclass(frozen=True, slots=True)
class Gap:
    """Matches of somebody who is `points` of Elo stronger than the opponents met.

    A newcomer's Elo comes within NEAR of the truth after `near`. Whoever was settled at their
    level and improves has, after `elo` and `openskill`, shown MOST_OF_THE_WAY of it.
    """

    points: int
    near: int
    elo: int
    openskill: int


@dataclass(frozen=True, slots=True)
class Table:
    """Sigma at tables of so many equals: where it ends, and after how many matches it is near."""

    players: int
    sigma: float
    matches: int


@dataclass(frozen=True, slots=True)
class Figures:
    """`swing` is the standard deviation of Elo in a room of equals who never change."""

    parameters: dict[str, Any]
    gaps: Sequence[Gap]
    tables: Sequence[Table]
    swing: float

    @property
    def near(self) -> int:
        return NEAR

    @property
    def share(self) -> float:
        return MOST_OF_THE_WAY


def parameters() -> dict[str, Any]:
    """All that the figures depend on, besides the code."""
    return {
        "elo": asdict(elo.PARAMETERS),
        "openskill": asdict(openskill.PARAMETERS),
        "display_scale": openskill.DISPLAY_SCALE,
        "display_sigmas": openskill.DISPLAY_SIGMAS,
    }


def compute_figures() -> Figures:
    """The figures, from nothing: some seconds of work."""
    tables = [_table(players) for players in TABLES]
    settled = tables[0].sigma
    return Figures(
        parameters=parameters(),
        gaps=[_gap(points, settled) for points in GAPS],
        tables=tables,
        swing=_swing(),
    )


def read_figures() -> Figures:
    """The kept figures."""
    kept = json.loads(KEPT_IN.read_text())
    return Figures(
        parameters=kept["parameters"],
        gaps=[Gap(**gap) for gap in kept["gaps"]],
        tables=[Table(**table) for table in kept["tables"]],
        swing=kept["swing"],
    )


def _gap(points: int, settled: float) -> Gap:
    elos = _mean_path([_elo_history(points, random) for random in _generators(RUNS)])
    shown = _mean_path(
        [_openskill_history(points, settled, random) for random in _generators(RUNS)]
    )
    truth = elo.PARAMETERS.start + points
    return Gap(
        points=points,
        near=next(n for n, rating in enumerate(elos) if truth - rating <= NEAR),
        elo=_most_of_the_way(elos, truth),
        openskill=_most_of_the_way(shown, _end(shown)),
    )


def _generators(count: int) -> Iterator[Random]:
    return (Random(SEED + run) for run in range(count))  # noqa: S311 - not for secrets


def _mean_path(histories: Sequence[list[float]]) -> list[float]:
    return [sum(values) / len(histories) for values in zip(*histories, strict=True)]


def _end(path: Sequence[float]) -> float:
    """Where a path ends: the mean of its last quarter, since single matches jump."""
    last = path[-LONGEST // 4 :]
    return sum(last) / len(last)


def _most_of_the_way(path: Sequence[float], end: float) -> int:
    wanted = path[0] + MOST_OF_THE_WAY * (end - path[0])
    return next(n for n, value in enumerate(path) if value >= wanted)


def _chance(points: float) -> float:
    return elo.expected_score(points, 0.0)


def _elo_history(points: int, random: Random) -> list[float]:
    """Elo after 0, 1, 2 ... matches against opponents who stand at the start."""
    chance = _chance(points)
    own = opponent = elo.PARAMETERS.start
    path = [own]
    for _ in range(LONGEST):
        places = (1, 2) if random.random() < chance else (2, 1)
        own = elo.rate([[own], [opponent]], places)[0][0]
        path.append(own)
    return path


def _openskill_history(points: int, settled: float, random: Random) -> list[float]:
    """The displayed rating after 0, 1, 2 ... matches of a settled player who has just improved."""
    chance = _chance(points)
    opponent = own = (openskill.PARAMETERS.mu, settled)
    path = [displayed_rating(*own)]
    for _ in range(LONGEST):
        places = (1, 2) if random.random() < chance else (2, 1)
        own = openskill.rate([[own], [opponent]], places)[0][0]
        path.append(displayed_rating(*own))
    return path


def _table(players: int) -> Table:
    """Newcomers of equal strength who always play together."""
    sigmas = _mean_path([_sigma_history(players, random) for random in _generators(TABLE_RUNS)])
    end = _end(sigmas)
    near = next(n for n, sigma in enumerate(sigmas) if sigma <= end * NEARLY_SETTLED)
    return Table(players, end, near)


def _sigma_history(players: int, random: Random) -> list[float]:
    newcomer: Belief = (openskill.PARAMETERS.mu, openskill.PARAMETERS.sigma)
    beliefs = [[newcomer] for _ in range(players)]
    path = [newcomer[1]]
    places = list(range(1, players + 1))
    for _ in range(LONGEST):
        random.shuffle(places)
        beliefs = openskill.rate(beliefs, places)
        path.append(beliefs[0][0][1])
    return path


def _swing() -> float:
    """The standard deviation of Elo among equals, paired by chance, once it no longer grows."""
    random = Random(SEED)  # noqa: S311 - not for secrets
    start = elo.PARAMETERS.start
    ratings = [start] * ROOM
    squares = 0.0
    settled_from = ROOM_ROUNDS // 4
    for number in range(ROOM_ROUNDS):
        random.shuffle(ratings)
        for one in range(0, ROOM, 2):
            places = (1, 2) if random.random() < _chance(0) else (2, 1)
            pair = [[rating] for rating in ratings[one : one + 2]]
            ratings[one : one + 2] = [team[0] for team in elo.rate(pair, places)]
        if number >= settled_from:
            squares += sum((rating - start) ** 2 for rating in ratings)
    return sqrt(squares / (ROOM * (ROOM_ROUNDS - settled_from)))


if __name__ == "__main__":
    KEPT_IN.write_text(json.dumps(asdict(compute_figures()), indent=2) + "\n")
