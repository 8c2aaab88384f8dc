"""How a rating went over time, for its chart: after each match, and by decay in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection

from leaderboards.charts import Point
from ratings.models import Rating, System
from ratings.systems import decay
from ratings.systems.match import Skill
from ratings.systems.openskill import DISPLAY_SIGMAS, displayed_rating

MOST_READ = 4_000
"""A history of more matches is not read whole: see `read_history`."""
MOST_SOUGHT = 25_000
"""In one of more matches not even the extremes are sought, since that takes the longer the more
there are: measured 27 ms with 40,000 and 112 ms with 200,000, where the moments took 6 ms. An
index that holds the numbers would need 17 ms with 200,000 for the extremes of Elo alone, and half
as much room again for every match of everybody.
"""
STRETCHES = 245
MOMENTS = 490


@dataclass(frozen=True, slots=True)
class Moment:
    """What a player's last rated match by `at` had left him with."""

    at: datetime
    played_at: datetime
    skill: Skill
    match_id: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """`has_extremes` where no peak and no trough is missing, of however short a stretch.

    `start` is what the first match was rated from.
    """

    start: Skill
    moments: Sequence[Moment]
    has_extremes: bool


def read_history(rating: Rating, system: str) -> History:
    """The player's history in a game: one query, or up to three beyond MOST_READ matches.

    Of a longer one the matches that matter to a chart: of equal stretches of time the first and
    the last, the lowest and the highest. Beyond MOST_SOUGHT matches only evenly spaced moments are
    looked up, each by the index, and then all matches around the highest and the lowest of them:
    the time does not grow with the matches.
    """
    if rating.matches <= MOST_READ:
        rows = _fetch(f"{_ROWS} ORDER BY played_at, match_id", _whose(rating))
        moments = [Moment(row[1], row[1], row[5:], match_id=row[0]) for row in rows]
        return History(rows[0][2:5], moments, has_extremes=True)
    [first] = _fetch(f"{_ROWS} ORDER BY played_at, match_id LIMIT 1", _whose(rating))
    begin, end = first[1], rating.last_played_at
    # In a longer stretch there could be decay between matches that are left away.
    if rating.matches <= MOST_SOUGHT and (end - begin) / STRETCHES < decay.GRACE:
        return History(first[2:5], _seek(rating, system, begin, end), has_extremes=True)
    sampled = _sample(rating, begin, end)
    found = {moment.at: moment for moment in sampled}
    found |= {moment.at: moment for moment in _around_extremes(rating, system, sampled)}
    return History(first[2:5], [found[at] for at in sorted(found)], has_extremes=False)


def points_of(history: History, system: str, until: datetime) -> list[Point]:
    """The history of one system's number, decay by decay up to `until`."""
    if system == System.ELO:
        elos = [Point(moment.at, moment.skill[0], moment.match_id) for moment in history.moments]
        return [Point(elos[0].at, history.start[0]), *elos]
    return list(_openskill_points(history, until))


def _openskill_points(history: History, until: datetime) -> Iterator[Point]:
    yield Point(history.moments[0].at, displayed_rating(*history.start[1:]))
    last: Moment | None = None
    for moment in history.moments:
        if last is not None:
            yield from _decay(last, moment.at)
        yield Point(moment.at, _displayed(moment), moment.match_id)
        last = moment
    if last is not None:
        yield from _decay(last, until)


def _decay(moment: Moment, until: datetime) -> Iterator[Point]:
    _elo, mu, sigma = moment.skill
    for monday, grown in decay.steps_of(sigma, moment.played_at, moment.at, until):
        if monday < until:
            yield Point(monday, displayed_rating(mu, grown))


def _displayed(moment: Moment) -> float:
    _elo, mu, sigma = moment.skill
    return displayed_rating(mu, decay.sigma_at(sigma, moment.played_at, moment.at))


_ROWS = """
    SELECT match_id, played_at, elo_before, mu_before, sigma_before,
           elo_after, mu_after, sigma_after
      FROM ratings_participation
     WHERE player_id = %(player)s AND game_id = %(game)s AND elo_after IS NOT NULL
"""


# Moments as whole microseconds: psycopg reads thousands of them far faster than as dates.
_AFTER = """
    SELECT (extract(epoch FROM played_at) * 1000000)::bigint, elo_after, mu_after, sigma_after
      FROM ratings_participation
     WHERE player_id = %(player)s AND game_id = %(game)s AND elo_after IS NOT NULL
"""


def _whose(rating: Rating) -> dict[str, int]:
    return {"player": rating.player_id, "game": rating.game_id}


def _fetch(query: str, params: dict[str, object]) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return cursor.fetchall()


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


_VALUE = {
    System.ELO: "elo_after",
    # The shown number without its scale, which puts the matches in the same order.
    System.OPENSKILL: f"mu_after - {DISPLAY_SIGMAS} * sigma_after",
}


def _seek(rating: Rating, system: str, begin: datetime, end: datetime) -> list[Moment]:
    """Of equal stretches of time the first, the last, the lowest and the highest match."""
    edges = [begin + (end - begin) * number / STRETCHES for number in range(STRETCHES)]
    value = _VALUE[System(system)]
    orders = (
        "played_at, match_id",
        "played_at DESC, match_id DESC",
        f"{value}, match_id",
        f"{value} DESC, match_id",
    )
    within = f"{_ROWS} AND played_at >= stretch.begin AND played_at < stretch.until"
    parts = " UNION ".join(f"({within} ORDER BY {order} LIMIT 1)" for order in orders)
    rows = _fetch(
        f"""
        SELECT found.* FROM unnest(%(begins)s::timestamptz[], %(ends)s::timestamptz[])
               AS stretch (begin, until)
         CROSS JOIN LATERAL ({parts}) AS found
         ORDER BY played_at, match_id
        """,
        {
            **_whose(rating),
            "begins": edges,
            "ends": [*edges[1:], end + timedelta(microseconds=1)],
        },
    )
    return [Moment(row[1], row[1], row[5:], match_id=row[0]) for row in rows]


def _sample(rating: Rating, begin: datetime, end: datetime) -> list[Moment]:
    """What the player had at evenly spaced moments from his first match to his last."""
    moments = [begin + (end - begin) * number / (MOMENTS - 1) for number in range(MOMENTS)]
    rows = _fetch(
        f"""
        SELECT moment.number, last.*
          FROM unnest(%(moments)s::timestamptz[]) WITH ORDINALITY AS moment (at, number)
         CROSS JOIN LATERAL ({_AFTER} AND played_at <= moment.at
                              ORDER BY played_at DESC, match_id DESC LIMIT 1) AS last
         ORDER BY moment.number
        """,
        {**_whose(rating), "moments": moments},
    )
    return [Moment(moments[row[0] - 1], _moment(row[1]), row[2:]) for row in rows]


def _around_extremes(rating: Rating, system: str, sampled: Sequence[Moment]) -> list[Moment]:
    """The highest and the lowest match next to the highest and the lowest of the moments."""

    def value(moment: Moment) -> float:
        return moment.skill[0] if system == System.ELO else _displayed(moment)

    ranges = []
    for extreme in (min, max):
        index = sampled.index(extreme(sampled, key=value))
        after = sampled[min(index + 1, len(sampled) - 1)].at
        ranges.append((sampled[max(index - 1, 0)].at, after))
    rows = _fetch(
        f"""
        SELECT near.* FROM unnest(%(begins)s::timestamptz[], %(ends)s::timestamptz[])
               AS wanted (begin, until)
         CROSS JOIN LATERAL ({_AFTER} AND played_at BETWEEN wanted.begin AND wanted.until) AS near
        """,
        {
            **_whose(rating),
            "begins": [begin for begin, _end in ranges],
            "ends": [end for _begin, end in ranges],
        },
    )
    near = [Moment(at := _moment(row[0]), at, row[1:]) for row in rows]
    found = [min(near, key=value), max(near, key=value)]
    if system == System.ELO:
        # The highest of all is known for certain.
        peak = next((moment for moment in near if moment.skill[0] == rating.peak_elo), None)
        skill = (rating.peak_elo, rating.mu, rating.sigma_settled)
        found.append(peak or Moment(rating.peak_at, rating.peak_at, skill))
    return found
