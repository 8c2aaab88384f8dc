"""Why a number moved in the last seven days; see docs/decisions/why-the-number-moved.md.

All sums are exact: fractions of whole numbers, which every double is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from django.db import connection

from ratings.models import GameState, Rating, System
from ratings.systems import decay
from ratings.systems.match import START, Skill
from ratings.systems.openskill import displayed_rating

SPAN = timedelta(days=7)
LATE = timedelta(hours=1)
"""A result that arrives later than this after the match counts as late."""
MOST_LOOKED_AT = 1_000
"""Of so many matches, the newest, the arrival is looked up; the others count as in time."""


@dataclass(frozen=True, slots=True)
class Account:
    """`before` and the three parts add up to `now`, to the last bit.

    `matches` were reported in time and never corrected, `afterwards` are late or corrected ones.
    """

    before: Fraction
    matches: Fraction
    afterwards: Fraction
    decay: Fraction

    @property
    def now(self) -> Fraction:
        return self.before + self.change

    @property
    def change(self) -> Fraction:
        return self.matches + self.afterwards + self.decay


@dataclass(frozen=True, slots=True)
class Week:
    """The accounts of both systems since a moment, and how many matches are behind the parts.

    `corrected` is how many matches of the game were voided, restored or corrected since.
    """

    since: datetime
    elo: Account
    openskill: Account
    matches: int
    afterwards: int
    corrected: int

    @property
    def is_looked_through(self) -> bool:
        """Whether every match was looked up."""
        return self.matches + self.afterwards <= MOST_LOOKED_AT

    @property
    def most_looked_at(self) -> int:
        return MOST_LOOKED_AT


class _Afterwards(NamedTuple):
    """What late and corrected matches changed in all: their number, and Elo, mu and sigma."""

    matches: int
    skill: Skill


def read_week(rating: Rating, state: GameState, at: datetime) -> Week:
    """What moved a rating in the seven days before `at`. Two queries."""
    since = at - SPAN
    begin, first = _read_edges(rating, since, min(since, state.decayed_to))
    now = (rating.elo, rating.mu, rating.sigma)
    count, corrected, afterwards = _read_matches(rating, since)
    return Week(
        since=since,
        elo=_account(System.ELO, begin, first, now, afterwards),
        openskill=_account(System.OPENSKILL, begin, first, now, afterwards),
        matches=count - afterwards.matches,
        afterwards=afterwards.matches,
        corrected=corrected,
    )


def _account(
    system: System, begin: Skill, first: Skill | None, now: Skill, afterwards: _Afterwards
) -> Account:
    """One system's account: `first` is what the first match since was rated from.

    What every match leaves is what the next one starts from, but for decay, and decay takes a
    month to set in. So since the first match nothing but matches moved the number.
    """
    start = _number(system, begin)
    before_matches = _number(system, now if first is None else first)
    # The displayed rating is linear, so that sums of mu and sigma are enough.
    late = _number(system, afterwards.skill) - _number(system, (0.0, 0.0, 0.0))
    return Account(
        before=start,
        matches=_number(system, now) - before_matches - late,
        afterwards=late,
        decay=before_matches - start,
    )


def _number(system: System, skill: Skill) -> Fraction:
    elo, mu, sigma = skill
    return Fraction(elo if system == System.ELO else displayed_rating(mu, sigma))


def _read_edges(
    rating: Rating, since: datetime, decayed_to: datetime
) -> tuple[Skill, Skill | None]:
    """What the player had at the beginning, and what his first match since was rated from."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            (SELECT true, played_at, elo_after, mu_after, sigma_after
               FROM ratings_participation
              WHERE player_id = %(player)s AND game_id = %(game)s AND elo_after IS NOT NULL
                AND played_at < %(since)s
              ORDER BY played_at DESC, match_id DESC LIMIT 1)
            UNION ALL
            (SELECT false, played_at, elo_before, mu_before, sigma_before
               FROM ratings_participation
              WHERE player_id = %(player)s AND game_id = %(game)s AND elo_after IS NOT NULL
                AND played_at >= %(since)s
              ORDER BY played_at, match_id LIMIT 1)
            """,
            _params(rating, since),
        )
        rows = {is_earlier: row for is_earlier, *row in cursor.fetchall()}
    begin: Skill = START
    if True in rows:
        last_played_at, elo, mu, sigma = rows[True]
        begin = (elo, mu, decay.sigma_at(sigma, last_played_at, decayed_to))
    return begin, tuple(rows[False][1:]) if False in rows else None


def _read_matches(rating: Rating, since: datetime) -> tuple[int, int, _Afterwards]:
    """The player's rated matches since, the game's corrected ones, and those counted late."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH corrected AS MATERIALIZED (
                SELECT DISTINCT c.match_id
                  FROM ratings_correction made JOIN ratings_correctedmatch c
                    ON c.correction_id = made.id
                 WHERE made.game_id = %(game)s AND made.made_at >= %(since)s)
            SELECT (SELECT count(*) FROM ratings_participation
                     WHERE player_id = %(player)s AND game_id = %(game)s
                       AND elo_after IS NOT NULL AND played_at >= %(since)s),
                   (SELECT count(*) FROM corrected),
                   count(*), coalesce(sum(elo_after - elo_before), 0)::float8,
                   coalesce(sum(mu_after - mu_before), 0)::float8,
                   coalesce(sum(sigma_after - sigma_before), 0)::float8
              FROM (SELECT * FROM ratings_participation
                     WHERE player_id = %(player)s AND game_id = %(game)s
                       AND elo_after IS NOT NULL AND played_at >= %(since)s
                     ORDER BY played_at DESC, match_id DESC LIMIT %(most)s) AS part
             CROSS JOIN LATERAL (SELECT received_at FROM ratings_match
                                  WHERE id = part.match_id OFFSET 0) AS reported
             WHERE received_at > played_at + %(late)s
                OR match_id IN (SELECT match_id FROM corrected)
            """,
            _params(rating, since),
        )
        count, corrected, afterwards, *skill = cursor.fetchone()
        return count, corrected, _Afterwards(afterwards, tuple(skill))


def _params(rating: Rating, since: datetime) -> dict[str, object]:
    return {
        "player": rating.player_id,
        "game": rating.game_id,
        "since": since,
        "late": LATE,
        "most": MOST_LOOKED_AT,
    }
