"""Players found by a part of their name, and where they stand on a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ratings.models import Player, Rating
from ratings.standings import Board, Census

MOST_FOUND = 20


@dataclass(frozen=True, slots=True)
class Found:
    """`rating` is None for whoever has no rated match in the game, `rank` and `shown` for whoever
    the board does not list.
    """

    player: Player
    rating: Rating | None
    rank: int | None
    shown: int | None


def find_players(text: str) -> list[Player]:
    """The best matches, one more than MOST_FOUND where there are more. One query."""
    return list(Player.objects.with_profile().found_by(text)[: MOST_FOUND + 1]) if text else []


def place_players(players: Sequence[Player], board: Board, census: Census) -> list[Found]:
    """Where each of them stands, in the same order. One query."""
    ratings = {
        rating.player_id: rating
        for rating in Rating.objects.filter(game=board.game, player__in=players)
    }
    return [_place(player, ratings.get(player.pk), board, census) for player in players]


def _place(player: Player, rating: Rating | None, board: Board, census: Census) -> Found:
    if rating is None or not board.lists(rating):
        return Found(player, rating, None, None)
    shown = board.shown(rating)
    return Found(player, rating, census.standing_at(shown).rank, shown)
