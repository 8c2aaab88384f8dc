"""What several commands are told in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.core.management.base import CommandError

from ratings.models import Game


def chosen_games(slugs: Sequence[str]) -> list[Game]:
    """The games of these slugs in their order, all of them for none. CommandError if unknown."""
    games = list(Game.objects.all())
    known = [game.slug for game in games]
    for slug in slugs:
        if slug not in known:
            raise CommandError(f'Unknown game "{slug}": one of {", ".join(known)} is needed.')
    return [game for game in games if game.slug in slugs or not slugs]


def parse_moment(option: str, text: str) -> datetime:
    """A moment in ISO 8601, with its offset. CommandError where it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f'Unexpected {option} "{text}": write a moment such as 2026-11-29T18:00:00Z.'
        ) from None
    if moment.tzinfo is None:
        raise CommandError(
            f'Unexpected {option} "{text}": it needs an offset, such as Z or +02:00.'
        )
    return moment
