"""On which page the words of a file can be seen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from leaderboards.shell import Shell
from ratings.models import Match, Rating

INCLUDED = re.compile(r"""{%\s*(?:include|extends)\s+["']([^"'#]+)""")

# The template of each page; what it includes and extends is seen there too.
TEMPLATES = {
    "leaderboards/home.html": "home",
    "leaderboards/board_detail.html": "board",
    "leaderboards/player_game.html": "player-game",
    "leaderboards/player_detail.html": "player-detail",
    "leaderboards/match_detail.html": "match-detail",
    "leaderboards/compare.html": "compare",
    "leaderboards/calculators.html": "calculators",
    "leaderboards/bot_list.html": "bots",
    "leaderboards/how_it_works.html": "how-it-works",
    "leaderboards/faq.html": "faq",
    "leaderboards/faq_answers.html": "faq",
    "leaderboards/verify.html": "verify",
    "leaderboards/embed.html": "embed",
    "leaderboards/badge.svg": "badge",
    "leaderboards/translation_list.html": "translations",
    "leaderboards/translation_detail.html": "translation",
}

# Modules with words for a page. One of an admin class is seen in the staff pages.
MODULES = {
    "leaderboards/badges.py": "badge",
    "leaderboards/bots.py": "bots",
    "leaderboards/calculators.py": "calculators",
    "leaderboards/comparing.py": "compare",
    "leaderboards/examples.py": "how-it-works",
    "leaderboards/faq.py": "faq",
    "leaderboards/lists.py": "how-it-works",
    "leaderboards/profiles.py": "player-detail",
    "leaderboards/templatetags/times.py": "home",
    "leaderboards/themes.py": "home",
    "leaderboards/translations.py": "translation",
    "leaderboards/views/download.py": "verify",
    "leaderboards/views/how_it_works.py": "how-it-works",
    "leaderboards/views/theme.py": "home",
    "leaderboards/written_numbers.py": "calculators",
    "ratings/game_texts.py": "board",
    "ratings/models/game.py": "how-it-works",
    "ratings/models/match.py": "match-detail",
    "ratings/models/player.py": "player-detail",
    "ratings/standings.py": "board",
}

FOR_STAFF = (
    "ratings/admin/",
    "ratings/apps.py",
    "ratings/models/",
    "ratings/queued_changes.py",
    "templates/admin/",
)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The pages of this site that serve as examples; a name that is missing has none yet."""

    pages: Mapping[str, str]

    def of(self, files: Sequence[str]) -> list[str]:
        """The URLs on which words of these files are seen. Error pages and answers to game
        servers are on none."""
        urls = [url for file in files for url in self._urls(file)]
        return list(dict.fromkeys(urls))

    def _urls(self, file: str) -> list[str]:
        if file in MODULES:
            names: tuple[str, ...] = (MODULES[file],)
        elif is_for_staff(file):
            return [reverse("admin:index")]
        else:
            names = _pages_with(file.removeprefix("templates/"))
        return [self.pages[name] for name in names[:1] if name in self.pages]


def is_for_staff(file: str) -> bool:
    return file.startswith(FOR_STAFF)


def read_whereabouts(shell: Shell) -> Whereabouts:
    """Two queries: a player on a board and a match, for the pages about one."""
    pages = {
        name: reverse(f"leaderboards:{name}")
        for name in ("home", "calculators", "bots", "how-it-works", "faq", "verify", "translations")
    }
    pages["translation"] = reverse("leaderboards:translation", args=["es"])
    if shell.games:
        slug = shell.games[0].slug
        pages |= {
            name: reverse(f"leaderboards:{name}", args=[slug])
            for name in ("board", "compare", "embed")
        }
    listed = (
        Rating.objects.filter(is_listed=True)
        .order_by("-elo_shown", "player_id")
        .values_list("player__handle", "game__slug")
        .first()
    )
    if listed:
        pages["player-detail"] = reverse("leaderboards:player-detail", args=listed[:1])
        pages["player-game"] = reverse("leaderboards:player-game", args=listed)
        pages["badge"] = reverse("leaderboards:badge", args=listed)
    match = Match.objects.order_by("-pk").values_list("pk", flat=True).first()
    if match:
        pages["match-detail"] = reverse("leaderboards:match-detail", args=[match])
    return Whereabouts(pages)


@cache
def _pages_with(template: str) -> tuple[str, ...]:
    """The names of the pages in which a template is seen, the one it is itself first."""
    if template in TEMPLATES:
        return (TEMPLATES[template],)
    return tuple(
        dict.fromkeys(name for other in _templates_with(template) for name in _pages_with(other))
    )


def _templates_with(template: str) -> list[str]:
    return sorted(other for other, included in _included().items() if template in included)


@cache
def _included() -> dict[str, set[str]]:
    """Which templates each template of ours includes or extends."""
    found = {}
    for folder in map(Path, settings.TEMPLATES[0]["DIRS"]):
        for path in folder.rglob("*.*"):
            name = path.relative_to(folder).as_posix()
            found[name] = set(INCLUDED.findall(path.read_text())) - {name}
    return found
