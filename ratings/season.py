"""A card room that never was: who plays there, how well, and a season of results.

For the demo. A seeded generator draws everything, so that the same hour gives the same season.
Who wins follows from hidden true strengths on the scale of Elo: each side's strength plus luck
of the very distribution that Elo assumes, so that ratings can be seen to find the strengths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain, islice, product
from itertools import count as count_from
from math import exp, log
from random import Random
from typing import NamedTuple

from ratings.bots import BANDS
from ratings.models import Difficulty, Termination
from ratings.reports import Report, ReportedTeam, parse_points
from ratings.systems.decay import WEEK, current_monday

SEED = 48
WEEKS = 40
"""How long the room has been open; only a few played before the season, the last 26 of them.

Calendar weeks, and the last one only as far as it has come.
"""
EARLY_WEEKS = WEEKS - 26

RANKS = ("as", "dos", "tres", "cuatro", "cinco", "seis", "siete", "sota", "caballo", "rey")
SUITS = ("oros", "copas", "espadas", "bastos")

HOUSE_BOTS = {
    Difficulty.EASY: ("bot-brisa", "bot-nube", "bot-rocio"),
    Difficulty.MEDIUM: ("bot-marea", "bot-niebla", "bot-roca"),
    Difficulty.HARD: ("bot-galerna", "bot-rayo", "bot-trueno"),
}

# Of a hundred matches, how many are of which game; and of those, how many with which teams.
GAMES = {"brisca": 34, "tute": 22, "cinquillo": 16, "tute-subastado": 13, "siete-y-media": 15}
SIZES: dict[str, dict[tuple[int, ...], int]] = {
    "brisca": {(1,) * 2: 60, (1,) * 3: 10, (1,) * 4: 10, (2, 2): 20},
    "tute": {(1,) * 2: 50, (1,) * 3: 15, (1,) * 4: 10, (2, 2): 25},
    "cinquillo": {(1,) * 2: 10, (1,) * 3: 20, (1,) * 4: 40, (1,) * 5: 20, (1,) * 8: 10},
    "tute-subastado": {(1,) * 3: 40, (1,) * 4: 20, (1,) * 5: 5, (1, 2): 20, (1, 3): 15},
    "siete-y-media": {(1,) * 2: 15, (1,) * 4: 35, (1,) * 6: 30, (1,) * 10: 20},
}
DAYS = {0: 8, 1: 9, 2: 10, 3: 11, 4: 15, 5: 18, 6: 16}
ENDINGS = {
    Termination.NORMAL.value: 945,
    Termination.ABANDONED.value: 20,
    Termination.FRIENDLY.value: 27,
    Termination.CANCELLED.value: 8,
}
FEWEST_WINS = ("cinquillo",)
"""Where points are the cards left in the hand."""

MARATHON = 26
"""Matches of one pair in one night: more than are rated in 24 hours."""


@dataclass(slots=True)
class Character:
    """Somebody who plays in the weeks from `first` up to `last`, as often as `activity` says.

    `growth` is in points of strength a week.
    """

    id: str
    strengths: Mapping[str, float]
    tastes: Mapping[str, float]
    activity: float = 1.0
    first: int = 0
    last: int = WEEKS
    growth: float = 0.0

    def strength(self, game: str, week: int) -> float:
        return self.strengths[game] + self.growth * (week - self.first)


class Arrival(NamedTuple):
    """A report and when it comes in, which may be long after the match."""

    at: datetime
    report: Report


class _Result(NamedTuple):
    played_at: datetime
    game: str
    teams: tuple[ReportedTeam, ...]
    termination: str


class Season:
    """The room's results up to the full hour of `end`. `people` have to be 40 or more."""

    def __init__(self, end: datetime, *, people: int) -> None:
        self.random = Random(SEED)  # noqa: S311 - nobody's secret depends on it
        self.end = end.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        self.begin = current_monday(end) - (WEEKS - 1) * WEEK
        self.people = [self._person(handle) for handle in _handles(people)]
        self.bots = [
            self._bot(handle, BANDS[difficulty])
            for difficulty, handles in HOUSE_BOTS.items()
            for handle in handles
        ]
        self._regulars: dict[tuple[str, int], tuple[list[Character], list[float]]] = {}

    def arrivals(self, count: int) -> list[Arrival]:
        """So many results in the order in which their reports arrive."""
        nights = max(1, count // 5000)
        moments = sorted(self._moment() for _number in range(count - nights * MARATHON))
        played = [self._play(moment) for moment in moments]
        for _night in range(nights):
            played += self._marathon()
        played.sort(key=lambda result: result.played_at)
        arrivals = [
            Arrival(
                min(played_at + self._delay(), self.end),
                Report(game, f"demo-{number:06}", teams, played_at, termination),
            )
            for number, (played_at, game, teams, termination) in enumerate(played, start=1)
        ]
        return sorted(arrivals, key=lambda arrival: arrival.at)

    # Who

    def _person(self, handle: str) -> Character:
        random = self.random
        base = random.gauss(1200, 140)
        person = Character(
            handle,
            strengths={game: base + random.gauss(0, 60) for game in GAMES},
            tastes={game: random.choice((0.1, 0.5, 1.0, 3.0)) for game in GAMES},
            activity=0.05 if random.random() < 0.08 else min(random.paretovariate(1.1), 25.0),
            growth=random.uniform(2, 7) if random.random() < 0.15 else 0.0,
        )
        fate = random.random()
        if fate < 0.06:  # left long ago, and is off the boards
            person.last = random.randint(8, EARLY_WEEKS)
        elif fate < 0.18:  # stays away, and becomes uncertain
            person.last = random.randint(EARLY_WEEKS + 4, WEEKS - 6)
        elif fate < 0.28:  # is new
            person.first = random.randint(WEEKS - 3, WEEKS - 1)
        elif fate < 0.50:  # came in between
            person.first = random.randint(1, WEEKS - 12)
        return person

    def _bot(self, handle: str, band: tuple[int, int]) -> Character:
        base = sum(band) / 2 + self.random.uniform(-0.2, 0.2) * (band[1] - band[0])
        strengths = {game: base + self.random.gauss(0, 15) for game in GAMES}
        return Character(handle, strengths, dict.fromkeys(GAMES, 1.0))

    def _players(self, game: str, week: int, count: int) -> list[Character]:
        """Mostly people near each other in strength, often with a bot, rarely bots alone."""
        random = self.random
        if count <= len(self.bots) and random.random() < 0.03:
            return random.sample(self.bots, count)
        people, sums = self._regulars_of(game, week)
        chosen: list[Character] = []
        while len(chosen) < count:
            tries = 3 if chosen and random.random() < 0.6 else 1
            candidates = [
                people[bisect_right(sums, random.random() * sums[-1])] for _try in range(tries)
            ]
            if tries > 1:
                wanted = chosen[0].strength(game, week)
                candidates.sort(key=lambda someone: abs(someone.strength(game, week) - wanted))
            if candidates[0] not in chosen:
                chosen.append(candidates[0])
        if random.random() < 0.3:
            chosen[-1] = random.choice(self.bots)
        return chosen

    def _regulars_of(self, game: str, week: int) -> tuple[list[Character], list[float]]:
        """Who may turn up in a week, with running sums of how often each does."""
        if (game, week) not in self._regulars:
            people = [person for person in self.people if person.first <= week < person.last]
            sums = accumulate(person.activity * person.tastes[game] for person in people)
            self._regulars[game, week] = (people, list(sums))
        return self._regulars[game, week]

    # When

    def _moment(self) -> datetime:
        """The end of a match: in the season more than before it, in the evening most."""
        while True:
            moment = self._moment_of_all_weeks()
            if moment <= self.end:
                return moment

    def _moment_of_all_weeks(self) -> datetime:
        random = self.random
        is_early = random.random() < 0.1
        week = random.randrange(EARLY_WEEKS) if is_early else random.randrange(EARLY_WEEKS, WEEKS)
        seconds = int(3600 * random.triangular(8, 24, 20.5))
        return self.begin + week * WEEK + timedelta(days=_choice(random, DAYS), seconds=seconds)

    def _delay(self) -> timedelta:
        """How long a report takes: seconds, but where a server was cut off for a while."""
        fate = self.random.random()
        if fate < 0.002:
            return timedelta(days=self.random.randint(3, 12))
        if fate < 0.015:
            return timedelta(minutes=self.random.randint(20, 1500))
        return timedelta(seconds=self.random.randint(1, 20))

    # What comes of it

    def _play(self, moment: datetime) -> _Result:
        week = (moment - self.begin) // WEEK
        game = _choice(self.random, GAMES)
        sizes = _choice(self.random, SIZES[game])
        players = iter(self._players(game, week, sum(sizes)))
        teams = [[next(players) for _seat in range(size)] for size in sizes]
        return self._result(moment, game, teams, _choice(self.random, ENDINGS))

    def _marathon(self) -> list[_Result]:
        """A night on which two play on and on, in a week that is over."""
        week = self.random.randrange(EARLY_WEEKS, WEEKS - 1)
        people, _sums = self._regulars_of("brisca", week)
        pair = self.random.sample(people, 2)
        begin = self.begin + week * WEEK + timedelta(days=4, hours=18)
        return [
            self._result(
                begin + timedelta(minutes=11 * number), "brisca", [[player] for player in pair]
            )
            for number in range(MARATHON)
        ]

    def _result(
        self,
        moment: datetime,
        game: str,
        teams: Sequence[Sequence[Character]],
        termination: str = Termination.NORMAL.value,
    ) -> _Result:
        week = (moment - self.begin) // WEEK
        form = [
            sum(player.strength(game, week) for player in team) / len(team) + self._luck()
            for team in teams
        ]
        points = _points(game, form, is_contract=any(len(team) > 1 for team in teams))
        places = _places(points, fewest_wins=game in FEWEST_WINS)
        if termination == Termination.ABANDONED:
            places[self.random.randrange(len(teams))] = len(teams) + 1
            # Whoever left may have been the first: then the best of the others is.
            places = [1 + sum(other < place for other in places) for place in places]
        elif termination == Termination.CANCELLED:
            places = [1] * len(teams)
        is_counted = termination in (Termination.NORMAL, Termination.FRIENDLY)
        return _Result(
            moment,
            game,
            tuple(
                ReportedTeam(
                    tuple(player.id for player in team),
                    place,
                    parse_points(value) if is_counted else None,
                )
                for team, place, value in zip(teams, places, points, strict=True)
            ),
            termination,
        )

    def _luck(self) -> float:
        """Gumbel's distribution: with it, the chances to be first are those of Elo."""
        return -400 / log(10) * log(-log(self.random.random() or 0.5))


def _handles(count: int) -> list[str]:
    cards = [f"{rank}-de-{suit}" for suit, rank in product(SUITS, RANKS)]
    numbered = (f"{card}-{number}" for number in count_from(2) for card in cards)
    return list(islice(chain(cards, numbered), count))


def _choice[T: Hashable](random: Random, weights: Mapping[T, int]) -> T:
    return random.choices(list(weights), list(weights.values()))[0]


def _points(game: str, form: Sequence[float], *, is_contract: bool) -> list[int]:
    """What each side comes to. Coarse enough that some are equal."""
    if game == "brisca":
        return _shares(form, 120)
    if game == "tute":
        return _shares(form, 130)
    if game == "siete-y-media":
        return _shares(form, 100 * len(form), step=5)
    if game == "cinquillo":
        best = max(form)
        return [0 if value == best else 1 + int((best - value) / 80) for value in form]
    if is_contract:
        worth = 60 + 10 * int(abs(form[0] - form[1]) / 60)
        return [worth if value == max(form) else 0 for value in form]
    middle = sum(form) / len(form)
    return [max(0, 10 * round(15 + (value - middle) / 50)) for value in form]


def _shares(form: Sequence[float], total: int, step: int = 1) -> list[int]:
    """The total, divided in steps by form; the best side has what is left over."""
    best = max(range(len(form)), key=form.__getitem__)
    weights = [exp((value - form[best]) / 250) for value in form]
    shares = [step * round(total * weight / sum(weights) / step) for weight in weights]
    shares[best] += total - sum(shares)
    return shares


def _places(points: Sequence[int], *, fewest_wins: bool) -> list[int]:
    order = sorted(points, reverse=not fewest_wins)
    return [1 + order.index(value) for value in points]
