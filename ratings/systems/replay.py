"""A game's history, replayed: what every stored rating has to equal.

Matches are fed in the order of history, (played_at, id). Which of them are rated is decided here
too, since it depends on the ones before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from ratings.systems import decay
from ratings.systems.match import START, Skill, rate_match

PAIR_LIMIT = 20
PAIR_WINDOW = timedelta(hours=24)

# Why a match is not rated. The first three are facts of the match.
VOID = "void"
CANCELLED = "cancelled"
FRIENDLY = "friendly"
SAME_OWNER = "same_owner"
PAIR_LIMIT_REACHED = "pair_limit"


class Entry(NamedTuple):
    """One player's part in a match. `owner` is whoever answers for the player, or None."""

    player: int
    team: int
    place: int
    owner: Hashable | None = None


class PlayedMatch(NamedTuple):
    """A match as history sees it. `fact` is void, cancelled, friendly or empty."""

    played_at: datetime
    entries: Sequence[Entry]
    fact: str = ""
    id: int = 0


@dataclass(slots=True)
class Standing:
    """A player's numbers in one game after some point of its history.

    `sigma` is the settled one: decay since `last_played_at` is not in it. `last_played_at` is
    the last rated match, None before the first; `peak_elo` the highest Elo after one.
    """

    elo: float = START[0]
    mu: float = START[1]
    sigma: float = START[2]
    last_played_at: datetime | None = None
    won: int = 0
    drawn: int = 0
    lost: int = 0
    peak_elo: float = 0.0
    peak_at: datetime | None = None

    def skill_at(self, at: datetime) -> Skill:
        """The skill a match at that moment is rated from, decay included."""
        if self.last_played_at is None:
            return (self.elo, self.mu, self.sigma)
        return (self.elo, self.mu, decay.sigma_at(self.sigma, self.last_played_at, at))


class Change(NamedTuple):
    """What a rated match did to one player."""

    player: int
    before: Skill
    after: Skill


class Outcome(NamedTuple):
    """`reason` is empty for a rated match; `changes` come in the order of its entries."""

    match: PlayedMatch
    reason: str
    changes: Sequence[Change]


@dataclass(slots=True)
class Recent:
    """Counts the rated matches of each set of players in the last 24 hours."""

    _matches: deque[tuple[datetime, tuple[int, ...]]] = field(default_factory=deque)
    _counts: dict[tuple[int, ...], int] = field(default_factory=dict)

    def add(self, played_at: datetime, players: tuple[int, ...]) -> None:
        self._matches.append((played_at, players))
        self._counts[players] = self._counts.get(players, 0) + 1

    def count(self, at: datetime, players: tuple[int, ...]) -> int:
        """Rated matches of exactly these players less than 24 hours before `at`."""
        while self._matches and at - self._matches[0][0] >= PAIR_WINDOW:
            _, old = self._matches.popleft()
            left = self._counts[old] - 1
            if left:
                self._counts[old] = left
            else:
                del self._counts[old]
        return self._counts.get(players, 0)


class Replay:
    """Rates matches one by one from given standings; `standings` holds the state so far.

    From the beginning of history nothing is given; from a later point, the standings and the
    last 24 hours before it. Unknown players start as newcomers.
    """

    def __init__(
        self, standings: Mapping[int, Standing] | None = None, recent: Recent | None = None
    ) -> None:
        self.standings: dict[int, Standing] = dict(standings or {})
        self.recent = recent or Recent()

    def replay(self, history: Iterable[PlayedMatch]) -> Iterator[Outcome]:
        """The outcome of each match, which has to come in the order of history."""
        return map(self.rate, history)

    def rate(self, match: PlayedMatch) -> Outcome:
        """The outcome of the next match of history; its players' standings move on."""
        players = tuple(sorted([entry.player for entry in match.entries]))
        reason = self._reason_not_to_rate(match, players)
        if reason:
            return Outcome(match, reason, ())

        teams: dict[int, list[Entry]] = {}
        for entry in match.entries:
            teams.setdefault(entry.team, []).append(entry)
        places = [team[0].place for team in teams.values()]
        played_at = match.played_at
        known = self.standings
        for player in players:
            if player not in known:
                known[player] = Standing()
        before = [
            [known[entry.player].skill_at(played_at) for entry in team] for team in teams.values()
        ]
        after = rate_match(before, places)

        changes: dict[int, Change] = {}
        for team, old, new in zip(teams.values(), before, after):  # noqa: B905 - as rate_match says
            for entry, old_skill, new_skill in zip(team, old, new):  # noqa: B905
                player = entry.player
                standing = known[player]
                standing.elo, standing.mu, standing.sigma = new_skill
                if standing.last_played_at is None or standing.elo > standing.peak_elo:
                    standing.peak_elo = standing.elo
                    standing.peak_at = played_at
                standing.last_played_at = played_at
                changes[player] = Change(player, old_skill, new_skill)
        count_result(known, match.entries)
        self.recent.add(played_at, players)
        return Outcome(match, "", [changes[entry.player] for entry in match.entries])

    def _reason_not_to_rate(self, match: PlayedMatch, players: tuple[int, ...]) -> str:
        if match.fact:
            return match.fact
        if _has_opponents_of_one_owner(match.entries):
            return SAME_OWNER
        if self.recent.count(match.played_at, players) >= PAIR_LIMIT:
            return PAIR_LIMIT_REACHED
        return ""


def count_result(
    standings: Mapping[int, Standing], entries: Sequence[Entry], times: int = 1
) -> None:
    """Counts a rated match for its players, or takes it off again where `times` is -1.

    Won means alone at the best place, drawn sharing it, lost anything else.
    """
    best = min(entry.place for entry in entries)
    alone = len({entry.team for entry in entries if entry.place == best}) == 1
    for entry in entries:
        standing = standings[entry.player]
        if entry.place > best:
            standing.lost += times
        elif alone:
            standing.won += times
        else:
            standing.drawn += times


def _has_opponents_of_one_owner(entries: Sequence[Entry]) -> bool:
    team_of: dict[Hashable, int] = {}
    for entry in entries:
        if entry.owner is not None and team_of.setdefault(entry.owner, entry.team) != entry.team:
            return True
    return False
