"""The one place that knows ranks.

Ranks are competition ranks on the shown whole number: 1, 2, 2, 4. Inside a tie the order is by
exact rating, then by player id. Nothing here counts ratings: `PointsCount` holds how many stand
at each number, so a rank is a sum over a few thousand small rows at most, and a page is found by
the number at which the running sum passes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, models
from django.db.models import OuterRef, Subquery
from django.db.models.functions import JSONObject
from django.utils.translation import pgettext_lazy

from ratings.ledger import LONGEST_WALK
from ratings.models import Game, Participation, Rating, System
from ratings.systems import decay
from ratings.systems.openskill import displayed_rating

PAGE_SIZE = 50
ROWS_AT_A_TIME = 1_000
GREATEST_NUMBER = 2**31 - 1
"""The greatest that a shown number can be: where a board begins."""


class Kind(models.TextChoices):
    """Whom a board lists."""

    EVERYONE = "everyone", pgettext_lazy("who is on a board", "everyone")
    PEOPLE = "people", pgettext_lazy("who is on a board", "people")
    BOTS = "bots", pgettext_lazy("who is on a board", "bots")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a board. `rating.player` is loaded.

    `change` is exact: since the moment that the board was asked about, and None for a player who
    had no rating then, or where it was asked about none.
    """

    rank: int
    shown: int
    rating: Rating
    change: float | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a board: `number` of `count`, of `listed` players in all."""

    rows: Sequence[Row]
    number: int
    count: int
    listed: int

    @property
    def has_previous(self) -> bool:
        return self.number > 1

    @property
    def has_next(self) -> bool:
        return self.number < self.count


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a listed player stands: `rank` of `listed`, with `below` strictly under him."""

    rank: int
    listed: int
    below: int

    @property
    def better_than(self) -> float | None:
        """The share, 0 to 1, of the other listed players who stand strictly below."""
        return self.below / (self.listed - 1) if self.listed > 1 else None


@dataclass(frozen=True, slots=True)
class Bin:
    """How many players show a number from `start` up to, but not including, `end`."""

    start: int
    end: int
    count: int

    @property
    def last(self) -> int:
        """The last whole number inside."""
        return self.end - 1


@dataclass(frozen=True, slots=True)
class Number:
    """How many show a whole number, and how many stand above it."""

    shown: int
    count: int
    above: int


@dataclass(frozen=True, slots=True)
class Census:
    """How many players of a board show which number, the highest first: every rank at once."""

    numbers: Sequence[Number]

    @property
    def listed(self) -> int:
        return self.numbers[-1].above + self.numbers[-1].count if self.numbers else 0

    def standing_at(self, shown: int) -> Standing:
        """Where whoever shows this number stands, or would."""
        here = next((number for number in self.numbers if number.shown <= shown), None)
        if here is None:
            return Standing(self.listed + 1, self.listed, 0)
        through = here.above + (here.count if here.shown == shown else 0)
        return Standing(here.above + 1, self.listed, self.listed - through)

    def number_at(self, place: int) -> Number:
        """The number that the player at a place shows, counted from 0 without regard to ties."""
        return next(number for number in self.numbers if number.above + number.count > place)

    def distribution(self, width: int) -> list[Bin]:
        """How many players stand where, in steps of `width`; without gaps, lowest first."""
        if not self.numbers:
            return []
        counted: dict[int, int] = {}
        for number in self.numbers:
            step = number.shown // width
            counted[step] = counted.get(step, 0) + number.count
        return [
            Bin(step * width, (step + 1) * width, counted.get(step, 0))
            for step in range(min(counted), max(counted) + 1)
        ]


@dataclass(frozen=True, slots=True)
class Board:
    """The listed players of one game, by one system, of one kind.

    With `since`, its rows know how far their numbers moved since that moment; the game's state
    is needed then.
    """

    game: Game
    system: str = System.ELO
    kind: str = Kind.EVERYONE
    page_size: int = PAGE_SIZE
    since: datetime | None = None

    def lists(self, rating: Rating) -> bool:
        """Whether the board shows this rating of its game."""
        is_kind = self.kind == Kind.EVERYONE or rating.is_bot == (self.kind == Kind.BOTS)
        return rating.is_listed and is_kind

    def listed(self) -> int:
        """How many players are on the board."""
        [(count,)] = self._fetch(f"SELECT coalesce(sum(count), 0)::bigint FROM {self._counts}")
        return int(count)

    def census(self) -> Census:
        """How many show which number. One query, of a few thousand rows at most."""
        return Census(
            [
                Number(*row)
                for row in self._fetch(
                    f"""
                    SELECT shown, sum(count)::bigint,
                           (sum(sum(count)) OVER (ORDER BY shown DESC) - sum(count))::bigint
                      FROM {self._counts} GROUP BY shown ORDER BY shown DESC
                    """
                )
            ]
        )

    def page(self, number: int = 1, census: Census | None = None) -> Page:
        """A page of the board; beyond either end, the nearest there is.

        Three queries, and one more inside a great tie; one less for whoever has the census.
        """
        first = (max(1, number) - 1) * self.page_size
        found = self._find(first) if census is None else self._find_in(census, first)
        if not found:
            return Page([], 1, 1, 0)
        [(listed, first, shown, count, above)] = found
        players = self._players_from(shown, first - above, count)
        rows = self._with_ranks(players, first, above)
        return Page(rows, first // self.page_size + 1, -(-listed // self.page_size), listed)

    def walk(self, most: int) -> Iterator[Row]:
        """The first rows of the board, read by the thousand, each from where the last ended."""
        here = (GREATEST_NUMBER, float("inf"), 0)
        last: Row | None = None
        for first in range(0, most, ROWS_AT_A_TIME):
            players = self._players_after(here, min(ROWS_AT_A_TIME, most - first))
            if not players:
                return
            rows = self._with_ranks(players, first, 0, last)
            yield from rows
            last = rows[-1]
            here = (last.shown, self.exact(last.rating), last.rating.player_id + 1)

    def ranks(self) -> dict[int, int]:
        """The rank at each number that somebody on the board shows. One query."""
        return dict(
            self._fetch(
                f"""
                SELECT shown, (1 + sum(sum(count)) OVER (ORDER BY shown DESC) - sum(count))::bigint
                  FROM {self._counts} GROUP BY shown
                """
            )
        )

    def rank_at(self, shown: int) -> int:
        """The rank of whoever shows this number: one more than stand above it."""
        return self.standing_at(shown).rank

    def standing(self, rating: Rating) -> Standing | None:
        """Where a player stands on this board; None for a rating that it does not list."""
        return self.standing_at(self.shown(rating)) if self.lists(rating) else None

    def standing_at(self, shown: int) -> Standing:
        """Where whoever shows this number stands, or would. One query."""
        [(above, below, listed)] = self._fetch(
            f"""
            SELECT coalesce(sum(count) FILTER (WHERE shown > %(shown)s), 0)::bigint,
                   coalesce(sum(count) FILTER (WHERE shown < %(shown)s), 0)::bigint,
                   coalesce(sum(count), 0)::bigint
              FROM {self._counts}
            """,
            shown=shown,
        )
        return Standing(above + 1, listed, below)

    def around(self, rating: Rating, window: int = 5, census: Census | None = None) -> list[Row]:
        """So many neighbours of a listed player, himself among them, in the middle if can be.

        At either end of the board the window stops there and still is full. Empty for a rating
        that the board does not list. Three queries; one less for whoever has the census.
        """
        if not self.lists(rating):
            return []
        here = (self.shown(rating), self.exact(rating), rating.player_id)
        rows = self._load(self._players_near(here, window))
        numbers = {self.shown(row) for row in rows}
        if census is None:
            ranks = self._ranks(numbers)
        else:
            ranks = {number: census.standing_at(number).rank for number in numbers}
        return [self._row(ranks[self.shown(row)], row) for row in rows]

    def page_of(self, rank: int) -> int:
        """The number of the page on which a rank begins."""
        return (max(1, rank) - 1) // self.page_size + 1

    def distribution(self, width: int) -> list[Bin]:
        """How many players stand where, in steps of `width`; without gaps, lowest first."""
        return self.census().distribution(width)

    def shown(self, rating: Rating) -> int:
        """The whole number that the board shows of a rating."""
        value: int = getattr(rating, self._shown)
        return value

    def exact(self, rating: Rating) -> float:
        """The rating as it is stored, by which ties are ordered."""
        value: float = getattr(rating, self._exact)
        return value

    def _row(self, rank: int, rating: Rating) -> Row:
        then = self._then(rating)
        change = None if then is None else self.exact(rating) - then
        return Row(rank, self.shown(rating), rating, change)

    def _then(self, rating: Rating) -> float | None:
        """What the board's number was at `since`, the decay up to it included."""
        past: dict[str, Any] | None = getattr(rating, "past", None)
        if self.since is None or past is None:
            return None
        if self.system == System.ELO:
            return float(past["elo"])
        sigma = decay.sigma_at(
            float(past["sigma"]),
            datetime.fromisoformat(past["played_at"]),
            min(self.since, self.game.state.decayed_to),
        )
        shown: float = displayed_rating(float(past["mu"]), sigma)
        return shown

    # Queries. Names of columns come from the two systems, never from a request.

    @property
    def _exact(self) -> str:
        return "elo" if self.system == System.ELO else "openskill"

    @property
    def _shown(self) -> str:
        return f"{self._exact}_shown"

    @property
    def _counts(self) -> str:
        kind = "" if self.kind == Kind.EVERYONE else "AND is_bot = %(is_bot)s"
        return (
            "(SELECT shown, count FROM ratings_pointscount"
            f" WHERE game_id = %(game)s AND system = %(system)s {kind}) AS counts"
        )

    @property
    def _ratings(self) -> str:
        kind = "" if self.kind == Kind.EVERYONE else "AND is_bot = %(is_bot)s"
        return f"ratings_rating WHERE game_id = %(game)s AND is_listed {kind}"

    def _fetch(self, query: str, **params: Any) -> list[tuple[Any, ...]]:
        params |= {
            "game": self.game.pk,
            "system": str(self.system),
            "is_bot": self.kind == Kind.BOTS,
        }
        with connection.cursor() as cursor:
            cursor.execute(query, params)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    @property
    def _down(self) -> str:
        return f"{self._shown} DESC, {self._exact} DESC, player_id"

    @property
    def _up(self) -> str:
        return f"{self._shown}, {self._exact}, player_id DESC"

    def _find(self, first: int) -> list[tuple[Any, ...]]:
        """How many are listed, and of the page that begins at `first`, or of the last: where it
        begins, the number shown there, how many show it, and how many stand above it.
        """
        return self._fetch(
            f"""
            WITH numbers AS (
                SELECT shown, sum(count)::bigint AS count,
                       (sum(sum(count)) OVER (ORDER BY shown DESC))::bigint AS through
                  FROM {self._counts} GROUP BY shown),
            total AS (SELECT max(through) AS listed FROM numbers),
            wanted AS (
                SELECT listed, GREATEST(0, LEAST(%(first)s, (listed - 1) / %(size)s * %(size)s))
                       AS first FROM total)
            SELECT listed, first::bigint, shown, count, through - count
              FROM wanted JOIN numbers ON through > first
             ORDER BY shown DESC LIMIT 1
            """,
            first=first,
            size=self.page_size,
        )

    def _find_in(self, census: Census, first: int) -> list[tuple[Any, ...]]:
        """The same from the census."""
        listed = census.listed
        if not listed:
            return []
        first = min(first, (listed - 1) // self.page_size * self.page_size)
        here = census.number_at(first)
        return [(listed, first, here.shown, here.count, here.above)]

    def _players_from(self, shown: int, skip: int, count: int) -> list[int]:
        """Player ids of a page that begins `skip` places into the `count` of one number.

        Very many may share a number. Such a tie has segments, and only the one in which the page
        begins is walked.
        """
        here = (shown, float("inf"), 0)
        if count > LONGEST_WALK:
            here, skip = self._segment(shown, skip)
        return self._players_after(here, self.page_size, skip)

    def _segment(self, shown: int, skip: int) -> tuple[tuple[int, float, int], int]:
        """Where the segment begins that holds a place inside a tie, and how far in that is."""
        in_kind = {Kind.PEOPLE: "people", Kind.BOTS: "bots"}.get(Kind(self.kind), "people + bots")
        [(from_exact, from_player, before)] = self._fetch(
            f"""
            SELECT from_exact, from_player, before
              FROM (SELECT from_exact, from_player, (sum({in_kind}) OVER (
                               ORDER BY from_exact DESC, from_player) - ({in_kind}))::bigint
                           AS before
                      FROM ratings_tiesegment
                     WHERE game_id = %(game)s AND system = %(system)s AND shown = %(shown)s
                   ) AS segments
             WHERE before <= %(skip)s ORDER BY before DESC, from_exact, from_player DESC LIMIT 1
            """,
            shown=shown,
            skip=skip,
        )
        return (shown, from_exact, from_player), skip - before

    def _players_after(self, here: tuple[int, float, int], size: int, skip: int = 0) -> list[int]:
        """Ids of the players from a place on, down the board, after skipping some."""
        rows = self._fetch(
            f"SELECT player_id FROM ({self._after}) AS after ORDER BY {self._down}"
            " LIMIT %(size)s OFFSET %(skip)s",
            shown=here[0],
            exact=here[1],
            player=here[2],
            size=size,
            skip=skip,
            most=size + skip,
        )
        return [player for (player,) in rows]

    def _players_near(self, here: tuple[int, float, int], window: int) -> list[int]:
        """Ids of so many players in a row, down the board, the one who is `here` among them."""
        before, after = self._before, self._after
        players = [
            player
            for (player,) in self._fetch(
                f"""
                SELECT player_id
                  FROM ((SELECT * FROM ({before}) AS before ORDER BY {self._up} LIMIT %(most)s)
                        UNION ALL
                        (SELECT * FROM ({after}) AS after ORDER BY {self._down} LIMIT %(most)s)
                       ) AS near
                 ORDER BY {self._down}
                """,
                shown=here[0],
                exact=here[1],
                player=here[2],
                most=window,
            )
        ]
        middle = players.index(here[2])
        start = max(0, min(middle - window // 2, len(players) - window))
        return players[start : start + window]

    @property
    def _after(self) -> str:
        return self._three_ranges(self._down, ("<", "<", ">="))

    @property
    def _before(self) -> str:
        return self._three_ranges(self._up, (">", ">", "<"))

    def _three_ranges(self, order: str, signs: tuple[str, str, str]) -> str:
        """The players on one side of a place: as three ranges of the index.

        By one condition on the three columns PostgreSQL would filter the whole board.
        """
        columns = f"{self._shown}, {self._exact}, player_id"
        ranges = (
            f"{self._shown} = %(shown)s AND {self._exact} = %(exact)s"
            f" AND player_id {signs[2]} %(player)s",
            f"{self._shown} = %(shown)s AND {self._exact} {signs[1]} %(exact)s",
            f"{self._shown} {signs[0]} %(shown)s",
        )
        return " UNION ALL ".join(
            f"(SELECT {columns} FROM {self._ratings} AND {where} ORDER BY {order} LIMIT %(most)s)"
            for where in ranges
        )

    def _load(self, players: Sequence[int]) -> list[Rating]:
        """The ratings of these players, in their order, with the players."""
        found = Rating.objects.filter(game=self.game, player_id__in=players)
        if self.since is not None:
            found = found.annotate(past=_last_rated_before(self.since))
        by_player: Mapping[int, Rating] = {
            rating.player_id: rating for rating in found.select_related("player")
        }
        return [by_player[player] for player in players]

    def _with_ranks(
        self, players: Sequence[int], first: int, above: int, last: Row | None = None
    ) -> list[Row]:
        """Rows of consecutive players, of whom `first` stand before and `above` above them.

        `last` is the row just before, where that is known: a tie goes on from it.
        """
        rows: list[Row] = []
        for place, rating in enumerate(self._load(players), start=first):
            shown = self.shown(rating)
            before = rows[-1] if rows else last
            if before is None:
                rank = above + 1
            elif shown == before.shown:
                rank = before.rank
            else:
                rank = place + 1
            rows.append(self._row(rank, rating))
        return rows

    def _ranks(self, numbers: set[int]) -> dict[int, int]:
        """The rank at each of a few numbers."""
        found = self._fetch(
            f"""
            SELECT wanted.shown,
                   1 + coalesce(sum(count) FILTER (WHERE counts.shown > wanted.shown), 0)::bigint
              FROM unnest(%(numbers)s::int[]) AS wanted (shown) CROSS JOIN {self._counts}
             GROUP BY wanted.shown
            """,
            numbers=sorted(numbers),
        )
        return dict(found)


def _last_rated_before(moment: datetime) -> Subquery:
    """Of each rating, the skill that the last rated match before a moment left; null for none.

    One step into the ledger's index for each row. As JSON, which holds every double in full.
    """
    matches = Participation.objects.filter(
        player=OuterRef("player"),
        game=OuterRef("game"),
        played_at__lt=moment,
        elo_after__isnull=False,
    )
    skill = JSONObject(elo="elo_after", mu="mu_after", sigma="sigma_after", played_at="played_at")
    return Subquery(matches.order_by("-played_at", "-match").values_list(skill)[:1])


def standings_of(ratings: Collection[Rating]) -> dict[tuple[int, str], Standing]:
    """Where each of these listed ratings stands among everyone, by (rating id, system).

    One query, for any number of games and both systems.
    """
    wanted = [
        (rating.pk, rating.game_id, system.value, shown)
        for rating in ratings
        for system, shown in (
            (System.ELO, rating.elo_shown),
            (System.OPENSKILL, rating.openskill_shown),
        )
    ]
    ids, games, systems, numbers = zip(*wanted, strict=True) if wanted else ((), (), (), ())
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT wanted.rating, wanted.system,
                   1 + coalesce(sum(count) FILTER (WHERE counts.shown > wanted.shown), 0)::bigint,
                   sum(count)::bigint,
                   coalesce(sum(count) FILTER (WHERE counts.shown < wanted.shown), 0)::bigint
              FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::int[])
                   AS wanted (rating, game, system, shown)
              JOIN ratings_pointscount counts
                ON counts.game_id = wanted.game AND counts.system = wanted.system
             GROUP BY wanted.rating, wanted.system
            """,
            [list(ids), list(games), list(systems), list(numbers)],
        )
        return {
            (rating, system): Standing(*standing) for rating, system, *standing in cursor.fetchall()
        }


def leaders(count: int) -> dict[int, list[Row]]:
    """The first `count` rows of every game's Elo board, by game id. Two queries."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT best.id
              FROM ratings_game game
             CROSS JOIN LATERAL (
                   SELECT id FROM ratings_rating
                    WHERE game_id = game.id AND is_listed
                    ORDER BY elo_shown DESC, elo DESC, player_id LIMIT %s) AS best
            """,
            [count],
        )
        ids = [id for (id,) in cursor.fetchall()]
    found = Rating.objects.filter(pk__in=ids).select_related("player")
    rows: dict[int, list[Row]] = {}
    for rating in found.order_by("game_id", "-elo_shown", "-elo", "player_id"):
        board = rows.setdefault(rating.game_id, [])
        is_tied = bool(board) and board[-1].shown == rating.elo_shown
        rank = board[-1].rank if is_tied else len(board) + 1
        board.append(Row(rank, rating.elo_shown, rating))
    return rows
