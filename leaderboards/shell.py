"""What every page shows around its own content: the games' names and, in a demo, a banner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404

from ratings.models import Game, Source


@dataclass(frozen=True, slots=True)
class Shell:
    games: Sequence[Game]
    is_demo: bool

    def game(self, slug: str) -> Game:
        """The game with this slug, its state loaded; Http404 where there is none."""
        for game in self.games:
            if game.slug == slug:
                return game
        raise Http404

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of every game: for pages that show more than one."""
        return tuple(game.state.version for game in self.games)


def read_shell() -> Shell:
    """Two queries, however many games there are."""
    return Shell(
        games=list(Game.objects.select_related("state")),
        is_demo=Source.objects.filter(is_demo=True).exists(),
    )
