"""How the versions of a bot did: what each scored beyond what was expected of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt

from django.db import connection

from ratings.models import BotVersion, Rating
from ratings.systems import elo

MOST_VERSIONS = 8
MOST_MATCHES = 1_000
"""So many of a version's matches are looked at, the newest."""
FEWEST_MATCHES = 2
NORMAL_95 = 1.96
"""Of a normal distribution, 95 % lies so many deviations around the middle."""


@dataclass(frozen=True, slots=True)
class Surplus:
    """The score minus the expected score of a version's matches: mean, and deviation of one."""

    matches: int
    mean: float
    deviation: float

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / sqrt(self.matches)

    @property
    def low(self) -> float:
        return self.mean - NORMAL_95 * self.error

    @property
    def high(self) -> float:
        return self.mean + NORMAL_95 * self.error

    def differs_from(self, other: Surplus) -> bool:
        """Whether chance alone would set two means so far apart in fewer than 5 of 100 cases."""
        return abs(self.mean - other.mean) > NORMAL_95 * sqrt(self.error**2 + other.error**2)


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """`matches` are all those looked at; `surplus` is None with too few of them.

    `is_distinct` says whether it plays unlike the one before; None where that cannot be said.
    """

    version: BotVersion
    matches: int
    surplus: Surplus | None
    is_distinct: bool | None


def read_versions(rating: Rating) -> list[VersionRecord]:
    """The newest versions of a bot in a game, newest first. Two queries."""
    versions = list(
        BotVersion.objects.filter(bot=rating.player_id).order_by("-released_at", "-pk")[
            : MOST_VERSIONS + 1
        ]
    )
    if not versions:
        return []
    surpluses = _read_surpluses(rating, versions)
    records = []
    for version, older in zip(versions, [*versions[1:], None], strict=True):
        surplus = surpluses.get(version.pk)
        before = surpluses.get(older.pk) if older else None
        known = surplus if surplus and surplus.matches >= FEWEST_MATCHES else None
        records.append(
            VersionRecord(
                version,
                surplus.matches if surplus else 0,
                known,
                known.differs_from(before)
                if known and before and before.matches >= FEWEST_MATCHES
                else None,
            )
        )
    return records[:MOST_VERSIONS]


def _read_surpluses(rating: Rating, versions: Sequence[BotVersion]) -> dict[int, Surplus]:
    """By version id. A version's matches are those from its release to the next one's."""
    ends: list[datetime | None] = [None, *(version.released_at for version in versions[:-1])]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT version.id, count(*), avg(change), coalesce(stddev_samp(change), 0)
              FROM unnest(%(ids)s::bigint[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
                   AS version (id, released_at, ends_at)
             CROSS JOIN LATERAL (
                   SELECT elo_after - elo_before AS change
                     FROM ratings_participation
                    WHERE player_id = %(player)s AND game_id = %(game)s AND elo_after IS NOT NULL
                      AND played_at > version.released_at
                      AND played_at <= coalesce(version.ends_at, 'infinity')
                    ORDER BY played_at DESC, match_id DESC LIMIT %(most)s) AS played
             GROUP BY version.id
            """,
            {
                "ids": [version.pk for version in versions],
                "begins": [version.released_at for version in versions],
                "ends": ends[: len(versions)],
                "player": rating.player_id,
                "game": rating.game_id,
                "most": MOST_MATCHES,
            },
        )
        return {
            version: Surplus(matches, elo.surplus(mean), elo.surplus(deviation))
            for version, matches, mean, deviation in cursor.fetchall()
        }
