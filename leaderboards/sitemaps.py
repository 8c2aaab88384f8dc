"""What search engines are told of: which pages there are, in each language.

Nothing is counted: players are split by their ids, a thousand ids to a file, and files are named
up to the highest id there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Max
from django.urls import reverse
from django.utils.translation import override

from ratings.models import Player, PlayerStatus

IDS_IN_A_FILE = 1000
MOST_FILES = 49_000
"""A sitemap's index may name 50,000."""

PAGES = ("home", "how-it-works", "faq", "calculators", "bots", "verify", "translations")


@dataclass(frozen=True, slots=True)
class Place:
    """One page in every language: (code, path) pairs; `changed_at` is None where nobody knows."""

    paths: Sequence[tuple[str, str]]
    changed_at: datetime | None = None


def player_files() -> range:
    """The numbers of the files that list players. One query."""
    highest = Player.objects.aggregate(highest=Max("pk"))["highest"]
    return range(0 if highest is None else min(highest // IDS_IN_A_FILE + 1, MOST_FILES))


def page_places(slugs: Sequence[str]) -> list[Place]:
    """The pages of the site that are not about a player, and the boards."""
    return [
        *(Place(_paths(f"leaderboards:{name}")) for name in PAGES),
        *(Place(_paths("leaderboards:board", slug)) for slug in slugs),
    ]


def player_places(file: int) -> Iterator[Place]:
    """The profiles of one file: of those on a board, and so of nobody hidden. One query."""
    first = file * IDS_IN_A_FILE
    players = (
        Player.objects.filter(pk__gte=first, pk__lt=first + IDS_IN_A_FILE)
        .filter(status=PlayerStatus.ACTIVE, ratings__is_listed=True)
        .annotate(changed_at=Max("ratings__last_played_at"))
        .order_by("pk")
        .values_list("handle", "changed_at")
    )
    for handle, changed_at in players:
        yield Place(_paths("leaderboards:player-detail", handle), changed_at)


def _paths(name: str, *args: Any) -> list[tuple[str, str]]:
    paths = []
    for code, _language in settings.LANGUAGES:
        with override(code):
            paths.append((code, reverse(name, args=args)))
    return paths
