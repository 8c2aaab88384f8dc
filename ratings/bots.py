"""What the bots of a difficulty are meant to reach, and what they do reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Max, Min

from ratings.models import Difficulty, Game, Rating
from ratings.models.rating import PROVISIONAL_BELOW

BANDS = {
    Difficulty.EASY: (900, 1100),
    Difficulty.MEDIUM: (1100, 1300),
    Difficulty.HARD: (1400, 1800),
}
"""The Elo that the bots of a difficulty are meant to have, by the value of the difficulty."""


@dataclass(frozen=True, slots=True)
class Span:
    """The lowest and the highest Elo among so many bots; only established ones count."""

    lowest: int
    highest: int
    bots: int


def read_spans(games: Sequence[Game]) -> dict[str, Span]:
    """What the listed bots of each difficulty span today over these games. One query.

    A difficulty is missing where no bot of it has a rating that is no longer provisional.
    """
    rows = (
        # By game as well, for the index of the boards: among a million people it finds the bots.
        Rating.objects.filter(game__in=[game.pk for game in games], is_bot=True, is_listed=True)
        .alias(matches=F("won") + F("drawn") + F("lost"))
        .filter(matches__gte=PROVISIONAL_BELOW)
        .values("player__bot__difficulty")
        .annotate(
            lowest=Min("elo_shown"), highest=Max("elo_shown"), bots=Count("player", distinct=True)
        )
    )
    return {
        row["player__bot__difficulty"]: Span(row["lowest"], row["highest"], row["bots"])
        for row in rows
        if row["player__bot__difficulty"]
    }
