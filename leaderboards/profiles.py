"""A player as the profile shows him: where he stands in each game, and what he played last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from leaderboards.matches import Line, Side, newest_matches_of, read_sides, result_of
from ratings.models import Game, Match, Player, PlayerStatus, Rating, System
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


def read_appearances(player: Player, game: Game | None = None) -> list[Appearance]:
    """The matches he played last, newest first. Three queries."""
    matches = newest_matches_of(player, RECENT_MATCHES, game.pk if game else None)
    sides = read_sides(matches)
    return [_appearance(player, match, sides[match.pk]) for match in matches]


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
            "Retired: on no board. The ratings are kept, and playing again brings them back."
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
