"""A match's receipt: the arithmetic of both systems, and what became of the match since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from leaderboards.matches import Line, Side
from ratings.models import CorrectedMatch, Correction, Match, Player, Status, Termination
from ratings.systems import elo, openskill
from ratings.systems.match import Skill

LATE = timedelta(hours=1)
"""A result that arrives later than this after the match is called late."""


@dataclass(frozen=True, slots=True)
class EloPair:
    """Two sides as Elo compares them: the first receives `transfer`, the second gives it.

    The shares are what each member of a side gets of it.
    """

    first: Side
    second: Side
    first_rating: float
    second_rating: float
    score: float
    expected: float
    transfer: float
    first_share: float
    second_share: float

    @property
    def is_shared(self) -> bool:
        return self.first_share != 1.0 or self.second_share != 1.0


@dataclass(frozen=True, slots=True)
class EloWorking:
    """`weight` is what one pair weighs: K for two sides, less for more."""

    k: float
    weight: float
    pairs: Sequence[EloPair]


@dataclass(frozen=True, slots=True)
class OpenSkillMember:
    """`wide` is sigma with tau, from which the match is rated; `free` what it alone would leave.

    Where that is more than the player came with, he keeps what he came with.
    """

    line: Line
    mu: float
    sigma: float
    wide: float
    mu_after: float
    sigma_after: float
    free: float

    @property
    def is_limited(self) -> bool:
        return self.free > self.sigma_after


@dataclass(frozen=True, slots=True)
class OpenSkillSide:
    side: Side
    mu: float
    sigma: float
    chance: float
    omega: float
    delta: float
    members: Sequence[OpenSkillMember]


@dataclass(frozen=True, slots=True)
class OpenSkillWorking:
    c: float
    beta: float
    tau: float
    sides: Sequence[OpenSkillSide]
    display_start: float = openskill.DISPLAY_START
    display_scale: float = openskill.DISPLAY_SCALE
    display_sigmas: float = openskill.DISPLAY_SIGMAS


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A player whom the systems moved differently.

    OpenSkill's change is the sum of two: what became of the estimate, and of the doubt.
    """

    line: Line
    strength: float
    certainty: float


@dataclass(frozen=True, slots=True)
class Version:
    """A match as a correction keeps it."""

    played_at: datetime
    termination: str
    status: str
    teams: Sequence[tuple[int, str | None, Sequence[Player]]]


@dataclass(frozen=True, slots=True)
class Change:
    """One correction of the match: what it was before and what it became."""

    correction: Correction
    before: Version
    after: Version

    @property
    def is_of_facts(self) -> bool:
        """Whether more than the status changed."""
        return (self.before.played_at, self.before.termination, self.before.teams) != (
            self.after.played_at,
            self.after.termination,
            self.after.teams,
        )


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A player's rated matches next to this one, by id."""

    line: Line
    previous: int | None
    next: int | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The workings are None where the match is not rated."""

    elo: EloWorking | None
    openskill: OpenSkillWorking | None
    disagreements: Sequence[Disagreement]
    changes: Sequence[Change]
    neighbours: Sequence[Neighbours]
    is_late: bool


def read_receipt(match: Match, sides: Sequence[Side]) -> Receipt:
    """Two queries, and one more for a match that was corrected."""
    teams = [[line.before for line in side.lines if line.before] for side in sides]
    places = [side.place for side in sides]
    changes = _read_changes(match)
    return Receipt(
        elo=_elo_working(sides, teams, places) if match.is_rated else None,
        openskill=_openskill_working(sides, teams, places) if match.is_rated else None,
        disagreements=[
            disagreement
            for side in sides
            for line in side.lines
            if (disagreement := _disagreement(line))
        ],
        changes=changes,
        neighbours=_read_neighbours(match, sides),
        is_late=match.received_at - match.played_at > LATE,
    )


def _elo_working(
    sides: Sequence[Side], teams: Sequence[Sequence[Skill]], places: Sequence[int]
) -> EloWorking:
    ratings = [elo.team_rating([skill[0] for skill in team]) for team in teams]
    return EloWorking(
        k=elo.PARAMETERS.k,
        weight=elo.pair_weight(len(teams)),
        pairs=[
            EloPair(
                first=sides[one],
                second=sides[other],
                first_rating=ratings[one],
                second_rating=ratings[other],
                score=score,
                expected=expected,
                transfer=transfer,
                first_share=elo.member_share(len(teams[one]), len(teams[other])),
                second_share=elo.member_share(len(teams[other]), len(teams[one])),
            )
            for one, other, score, expected, transfer in elo.pairs(ratings, places)
        ],
    )


def _openskill_working(
    sides: Sequence[Side], teams: Sequence[Sequence[Skill]], places: Sequence[int]
) -> OpenSkillWorking:
    beliefs = [[skill[1:] for skill in team] for team in teams]
    working = openskill.working(beliefs, places)
    rated = openskill.rate(beliefs, places)
    return OpenSkillWorking(
        c=working.c,
        beta=openskill.PARAMETERS.beta,
        tau=openskill.PARAMETERS.tau,
        sides=[
            OpenSkillSide(
                side=side,
                mu=working.team_mus[number],
                sigma=working.team_sigmas[number],
                chance=working.chances[number],
                omega=working.steps[number].omega,
                delta=working.steps[number].delta,
                members=[
                    OpenSkillMember(line, *before, wide, *after, free)
                    for line, before, wide, after, free in zip(
                        side.lines,
                        beliefs[number],
                        working.wide[number],
                        rated[number],
                        working.free[number],
                        strict=True,
                    )
                ],
            )
            for number, side in enumerate(sides)
        ],
    )


def _disagreement(line: Line) -> Disagreement | None:
    """None where both systems moved the player the same way, as it is shown."""
    if line.elo is None or line.openskill is None or line.before is None or line.after is None:
        return None
    if _sign(line.elo.change) == _sign(line.openskill.change):
        return None
    _elo, mu, sigma = line.before
    _elo, new_mu, _sigma = line.after
    between = openskill.displayed_rating(new_mu, sigma)
    return Disagreement(
        line,
        strength=between - openskill.displayed_rating(mu, sigma),
        certainty=line.openskill.after - between,
    )


def _sign(change: float) -> int:
    shown = round(change, 1)
    return (shown > 0) - (shown < 0)


def _read_changes(match: Match) -> list[Change]:
    """The corrections of a match, the oldest first."""
    rows = list(
        CorrectedMatch.objects.filter(match=match)
        .select_related("correction")
        .order_by("correction__made_at", "correction_id")
    )
    ids = {
        player
        for row in rows
        for version in (row.before, row.after)
        for _place, _points, players in version["teams"]
        for player in players
    }
    players = Player.objects.in_bulk(ids) if ids else {}
    return [
        Change(row.correction, _version(row.before, players), _version(row.after, players))
        for row in rows
    ]


def _version(kept: dict[str, Any], players: dict[int, Player]) -> Version:
    return Version(
        played_at=datetime.fromisoformat(kept["played_at"]),
        termination=Termination(kept["termination"]).label,
        status=Status(kept["status"]).label,
        teams=[
            (place, points, [players[player] for player in members])
            for place, points, members in sorted(kept["teams"], key=lambda team: team[0])
        ],
    )


def _read_neighbours(match: Match, sides: Iterable[Side]) -> list[Neighbours]:
    """Where each player's history goes on from the match, in both directions. One query."""
    lines = [line for side in sides for line in side.lines]
    found = _neighbour_ids(match, [line.player.pk for line in lines])
    return [Neighbours(line, *found[line.player.pk]) for line in lines]


def _neighbour_ids(
    match: Match, players: Collection[int]
) -> dict[int, tuple[int | None, int | None]]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT wanted.player_id,
                   (SELECT match_id FROM ratings_participation
                     WHERE player_id = wanted.player_id AND game_id = %(game)s
                       AND (played_at, match_id) < (%(played_at)s, %(match)s)
                       AND elo_after IS NOT NULL
                     ORDER BY played_at DESC, match_id DESC LIMIT 1),
                   (SELECT match_id FROM ratings_participation
                     WHERE player_id = wanted.player_id AND game_id = %(game)s
                       AND (played_at, match_id) > (%(played_at)s, %(match)s)
                       AND elo_after IS NOT NULL
                     ORDER BY played_at, match_id LIMIT 1)
              FROM unnest(%(players)s::bigint[]) AS wanted (player_id)
            """,
            {
                "players": list(players),
                "game": match.game_id,
                "played_at": match.played_at,
                "match": match.pk,
            },
        )
        return {player: (previous, following) for player, previous, following in cursor.fetchall()}
