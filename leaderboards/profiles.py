"""A player as the profile shows him: where he stands in each game, and what he played last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.utils.translation import gettext, ngettext

from leaderboards.charts import Chart, Dot, Point, draw
from leaderboards.forecasts import Forecast, forecast
from leaderboards.histories import points_of, read_history
from leaderboards.matches import Line, Side, newest_matches_of, read_sides, result_of
from leaderboards.moves import Week, read_week
from leaderboards.opponents import Met, read_met
from leaderboards.profile_questions import ProfileQuestion, read_turn
from leaderboards.versions import VersionRecord, read_versions
from ratings.bots import BANDS
from ratings.models import Difficulty, Game, Match, Player, PlayerStatus, Rating, System
from ratings.standings import Standing, standings_of

RECENT_MATCHES = 20


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A player's numbers in one game. `elo` and `openskill` are None where he is off the board."""

    game: Game
    rating: Rating
    elo: Standing | None
    openskill: Standing | None
    off_board: str


@dataclass(frozen=True, slots=True)
class Appearance:
    """A match as one of its players sees it. `result` is won, drawn or lost."""

    match: Match
    own: Side
    line: Line
    others: Sequence[Side]
    result: str

    @property
    def partners(self) -> list[Player]:
        return [line.player for line in self.own.lines if line is not self.line]


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A point of the chart in words: what changed there, and against whom, where that is known."""

    point: Point
    dot: Dot | None
    change: float | None
    against: Sequence[Player]


@dataclass(frozen=True, slots=True)
class GameProfile:
    """All that there is to say of a player in one game in which he has been rated.

    `versions` are None for a person. `band` is the Elo that bots of his difficulty are meant
    to have.
    """

    record: GameRecord
    chart: Chart
    has_extremes: bool
    week: Week
    forecast: Forecast
    met: Met
    versions: Sequence[VersionRecord] | None
    band: tuple[int, int] | None

    @property
    def chart_rows(self) -> list[ChartRow]:
        """The points of the chart, the oldest first. Of a thinned one nobody knows the changes."""
        if not self.chart.dots:
            return [ChartRow(point, None, None, ()) for point in self.chart.points]
        dots = self.chart.dots
        changes = [None, *(dot.point.value - last.point.value for last, dot in pairwise(dots))]
        return [
            ChartRow(dot.point, dot, change, self.met.against.get(dot.point.match_id or 0, ()))
            for dot, change in zip(dots, changes, strict=True)
        ]

    @property
    def is_in_band(self) -> bool:
        return self.band is None or self.band[0] <= self.record.rating.elo_shown <= self.band[1]


def read_game_profile(
    player: Player, record: GameRecord, question: ProfileQuestion, at: datetime
) -> GameProfile:
    """Five queries as of a moment; two more for a bot, and two for a very long history."""
    rating, state = record.rating, record.game.state
    versions = read_versions(rating) if player.is_bot else None
    history = read_history(rating, question.system)
    until = max(state.decayed_to, rating.last_played_at, at)
    return GameProfile(
        record=record,
        chart=draw(
            points_of(history, question.system, state.decayed_to),
            until=until,
            marks=[(one.version.label, one.version.released_at) for one in versions or ()],
        ),
        has_extremes=history.has_extremes,
        week=read_week(rating, state, at),
        forecast=forecast(rating, state),
        met=read_met(rating, at),
        versions=versions,
        band=_band_of(player),
    )


def _band_of(player: Player) -> tuple[int, int] | None:
    if not player.is_bot or not player.bot.difficulty:
        return None
    return BANDS[Difficulty(player.bot.difficulty)]


def read_records(player: Player, games: Sequence[Game]) -> list[GameRecord]:
    """His record in each of the games that he has been rated in, in their order. Two queries."""
    ratings = {
        rating.game_id: rating
        for rating in Rating.objects.filter(player=player, game__in=[game.pk for game in games])
    }
    standings = standings_of([rating for rating in ratings.values() if rating.is_listed])
    return [
        GameRecord(
            game,
            rating,
            standings.get((rating.pk, System.ELO)),
            standings.get((rating.pk, System.OPENSKILL)),
            off_board_reason(player, rating, game),
        )
        for game in games
        if (rating := ratings.get(game.pk))
    ]


@dataclass(frozen=True, slots=True)
class Appearances:
    """A stretch of a player's matches, newest first, and the ends from which it goes on."""

    matches: Sequence[Appearance]
    has_newer: bool
    has_older: bool

    @property
    def newest_id(self) -> int:
        return self.matches[0].match.pk

    @property
    def oldest_id(self) -> int:
        return self.matches[-1].match.pk


def read_appearances(
    player: Player, question: ProfileQuestion, game: Game | None = None
) -> Appearances:
    """The matches he played last, or those next to the match asked for.

    Three queries, and one more for a match asked for.
    """
    turn = read_turn(question)
    matches = newest_matches_of(player, RECENT_MATCHES + 1, game.pk if game else None, turn)
    has_more = len(matches) > RECENT_MATCHES
    is_back = turn is not None and turn.is_back
    matches = matches[-RECENT_MATCHES:] if is_back else matches[:RECENT_MATCHES]
    sides = read_sides(matches)
    return Appearances(
        [_appearance(player, match, sides[match.pk]) for match in matches],
        has_newer=has_more if is_back else turn is not None,
        has_older=is_back or has_more,
    )


def _appearance(player: Player, match: Match, sides: Sequence[Side]) -> Appearance:
    own = next(side for side in sides if side.has(player))
    line = next(line for line in own.lines if line.player.pk == player.pk)
    others = [side for side in sides if side is not own]
    return Appearance(match, own, line, others, result_of(sides, own))


def off_board_reason(player: Player, rating: Rating, game: Game) -> str:
    """Why a rating is not on the board, as a sentence; empty where it is."""
    if rating.is_listed:
        return ""
    if not player.is_active:
        return status_sentence(player)
    days = game.idle_days or 0
    return ngettext(
        "Off the board: the last rated match is more than %(days)s day ago. "
        "The next one brings the player back.",
        "Off the board: the last rated match is more than %(days)s days ago. "
        "The next one brings the player back.",
        days,
    ) % {"days": days}


def status_sentence(player: Player) -> str:
    """Why a player is on no board at all; empty for an active one."""
    return {
        PlayerStatus.RETIRED: gettext(
            "Retired: on no board, even when playing on. The ratings are kept."
        ),
        PlayerStatus.FROZEN: gettext(
            "Frozen by the staff: on no board, and no match is accepted until that ends."
        ),
        PlayerStatus.HIDDEN: gettext("This player has chosen to be on no board."),
        PlayerStatus.ANONYMISED: gettext(
            "This account was deleted. Its matches stay, without a name, since they are part of "
            "other players' histories."
        ),
    }.get(PlayerStatus(player.status), "")
