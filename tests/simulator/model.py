"""What the site should hold, kept in memory in the simplest way that comes to mind.

Facts only, in lists; everything that follows from them is worked out anew from the beginning of
history whenever somebody asks. Of the product it takes the rules that other tests prove: the
rating of one match, and decay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ratings.reports import Report
from ratings.systems import decay
from ratings.systems.match import START, rate_match

type Side = tuple[int, str | None, frozenset[int]]
"""Place, points and players of a team."""


@dataclass
class ModelPlayer:
    id: int
    is_bot: bool = False
    status: str = "active"
    owner: int | None = None

    @property
    def may_play(self) -> bool:
        return self.status not in ("frozen", "anonymised")


@dataclass
class ModelMatch:
    """`teams` are lists of players, with the places and points of each; `owners` by player."""

    id: int
    game: str
    played_at: datetime
    termination: str
    teams: list[list[int]]
    places: list[int]
    points: list[str | None]
    owners: dict[int, int | None]
    is_void: bool = False
    waits: bool = False

    @property
    def position(self) -> tuple[datetime, int]:
        return self.played_at, self.id

    @property
    def players(self) -> list[int]:
        return sorted(player for team in self.teams for player in team)

    @property
    def sides(self) -> set[Side]:
        return {
            (place, points, frozenset(team))
            for team, place, points in zip(self.teams, self.places, self.points, strict=True)
        }

    @property
    def facts(self) -> tuple[Any, ...]:
        return self.played_at, self.termination, self.sides


@dataclass
class ModelRating:
    elo: float = START[0]
    mu: float = START[1]
    sigma: float = START[2]
    won: int = 0
    drawn: int = 0
    lost: int = 0
    peak_elo: float = 0.0
    peak_at: datetime | None = None
    last_played_at: datetime | None = None


@dataclass
class Derived:
    """What follows from a game's facts: matches by id, ratings by player, counts, boards."""

    matches: dict[int, tuple[str, str, dict[int, tuple[float, ...]]]]
    ratings: dict[int, tuple[Any, ...]]
    counts: Counter[tuple[str, bool, int]]
    boards: dict[str, list[tuple[int, int, bool]]]
    """For each system (shown number, player, is_bot), the best first."""


@dataclass
class ModelGame:
    slug: str
    shapes: set[tuple[int, ...]]
    decayed_to: datetime
    idle_days: int | None
    version: int = 0
    matches: dict[int, ModelMatch] = field(default_factory=dict)

    def history(self) -> list[ModelMatch]:
        return sorted(
            (match for match in self.matches.values() if not match.waits),
            key=lambda match: match.position,
        )

    def waiting(self) -> list[ModelMatch]:
        return [match for match in self.matches.values() if match.waits]

    def after(self, played_at: datetime, id: float) -> int:
        """How many matches of history come after a place in it."""
        return sum(
            (match.played_at, match.id) > (played_at, id)
            for match in self.matches.values()
            if not match.waits
        )


class Model:
    def __init__(self, games: Iterable[ModelGame]) -> None:
        self.games = {game.slug: game for game in games}
        self.players: dict[int, ModelPlayer] = {}
        self.aliases: dict[tuple[str, str], int] = {}
        self.reports: dict[tuple[str, str], tuple[Any, int]] = {}
        """By source and external id: what was said, and the id of its match."""

    def player(self, source: str, name: str) -> ModelPlayer | None:
        number = self.aliases.get((source, name.casefold()))
        return None if number is None else self.players[number]

    def match(self, match_id: int) -> ModelMatch:
        return next(
            game.matches[match_id] for game in self.games.values() if match_id in game.matches
        )

    def said(self, source: str, report: Report) -> Any:
        """What a report says, in whatever order; players as the site knows them now."""
        return (
            report.game,
            report.played_at,
            report.termination,
            frozenset(
                (team.place, team.points, frozenset(self._names(source, team.players)))
                for team in report.teams
            ),
        )

    def _names(self, source: str, players: Sequence[str]) -> list[Any]:
        known = [self.aliases.get((source, player.casefold())) for player in players]
        return [
            player.casefold() if number is None else number
            for player, number in zip(players, known, strict=True)
        ]

    def is_refused(
        self, source: str, report: Report, at: datetime, max_age: timedelta | None, may_create: bool
    ) -> bool:
        game = self.games.get(report.game)
        if game is None:
            return True
        if tuple(sorted(len(team.players) for team in report.teams)) not in game.shapes:
            return True
        if report.played_at is not None:
            if report.played_at > at + timedelta(minutes=2):
                return True
            if max_age is not None and report.played_at < at - max_age:
                return True
        names = self._names(source, report.players)
        if len(set(names)) < len(names):
            return True
        found = [self.player(source, name) for name in report.players]
        return any(not may_create if player is None else not player.may_play for player in found)

    def derive(self, slug: str) -> Derived:
        """Everything that follows from the facts of a game, from its first match on."""
        game = self.games[slug]
        ratings: dict[int, ModelRating] = {}
        rated: dict[tuple[int, ...], list[datetime]] = {}
        matches = {
            match.id: ("waiting", "", dict.fromkeys(match.players, (None,) * 6))
            for match in game.waiting()
        }
        for match in game.history():
            together = tuple(match.players)
            reason = self._reason(match, rated.get(together, []))
            if reason:
                nothing = dict.fromkeys(together, (None,) * 6)
                matches[match.id] = (
                    ("void", "", nothing) if reason == "void" else ("unrated", reason, nothing)
                )
                continue
            rated.setdefault(together, []).append(match.played_at)
            matches[match.id] = ("rated", "", self._rate(match, ratings))
        rows, boards = {}, {"elo": [], "openskill": []}
        counts: Counter[tuple[str, bool, int]] = Counter()
        for number, rating in ratings.items():
            player = self.players[number]
            sigma = decay.sigma_at(rating.sigma, rating.last_played_at, game.decayed_to)
            openskill = 1500 + 24 * (rating.mu - 3 * sigma)
            is_listed = player.status == "active" and (
                game.idle_days is None
                or rating.last_played_at >= game.decayed_to - timedelta(days=game.idle_days)
            )
            rows[number] = (
                rating.elo, rating.mu, rating.sigma, sigma, round(rating.elo), round(openskill),
                rating.won, rating.drawn, rating.lost, rating.peak_elo, rating.peak_at,
                rating.last_played_at, player.is_bot, is_listed,
            )  # fmt: skip
            if is_listed:
                for system, exact in (("elo", rating.elo), ("openskill", openskill)):
                    counts[system, player.is_bot, round(exact)] += 1
                    boards[system].append((-round(exact), -exact, number, player.is_bot))
        return Derived(
            matches,
            rows,
            counts,
            {
                system: [(-shown, number, is_bot) for shown, _, number, is_bot in sorted(board)]
                for system, board in boards.items()
            },
        )

    @staticmethod
    def _reason(match: ModelMatch, rated: Sequence[datetime]) -> str:
        if match.is_void:
            return "void"
        if match.termination in ("cancelled", "friendly"):
            return match.termination
        sides = [{match.owners[player] for player in team} - {None} for team in match.teams]
        for number, owners in enumerate(sides):
            if any(owners & others for others in sides[number + 1 :]):
                return "same_owner"
        lately = [at for at in rated if match.played_at - at < timedelta(hours=24)]
        return "pair_limit" if len(lately) >= 20 else ""

    @staticmethod
    def _rate(match: ModelMatch, ratings: dict[int, ModelRating]) -> dict[int, tuple[float, ...]]:
        skills = []
        for team in match.teams:
            skills.append([])
            for player in team:
                rating = ratings.setdefault(player, ModelRating())
                sigma = rating.sigma
                if rating.last_played_at is not None:
                    sigma = decay.sigma_at(sigma, rating.last_played_at, match.played_at)
                skills[-1].append((rating.elo, rating.mu, sigma))
        numbers = {}
        best = min(match.places)
        for team, place, before, after in zip(
            match.teams, match.places, skills, rate_match(skills, match.places), strict=True
        ):
            for player, old, new in zip(team, before, after, strict=True):
                rating = ratings[player]
                rating.elo, rating.mu, rating.sigma = new
                rating.last_played_at = match.played_at
                if rating.peak_at is None or rating.elo > rating.peak_elo:
                    rating.peak_elo, rating.peak_at = rating.elo, match.played_at
                if place > best:
                    rating.lost += 1
                elif match.places.count(best) == 1:
                    rating.won += 1
                else:
                    rating.drawn += 1
                numbers[player] = (*old, *new)
        return numbers


def corrected(match: ModelMatch, players: dict[int, ModelPlayer], **facts: Any) -> ModelMatch:
    """The match with other facts. Who was in it keeps the owner of its day."""
    new = replace(match, **facts)
    new.owners = {player: match.owners.get(player, players[player].owner) for player in new.players}
    return new
