"""What the frame of every page needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse, translate_url
from django.utils.html import escape
from django.utils.translation import get_language, override

from leaderboards.questions import BoardQuestion
from leaderboards.themes import Theme, read_theme
from ratings.models import Game, Player, System

register = template.Library()

GAME_CARDS = frozenset({"brisca", "tute", "cinquillo", "tute-subastado", "siete-y-media"})


@dataclass(frozen=True, slots=True)
class LanguageLink:
    code: str
    name: str
    url: str
    is_current: bool


@register.simple_tag(takes_context=True)
def language_links(context: template.Context) -> list[LanguageLink]:
    """This very page in each language; `here` in the context is its URL where not the path.

    An error page is not to be found in any language: there the links lead home.
    """
    request: HttpRequest | None = context.get("request")
    if request is None:
        return []
    here = context.get("here") or request.path
    if "exception" in context:
        here = reverse("leaderboards:home")
    return [
        LanguageLink(code, name, _translated(here, code), code == get_language())
        for code, name in settings.LANGUAGES
    ]


def _translated(here: str, code: str) -> str:
    with override(code):
        home = reverse("leaderboards:home")
    url = translate_url(here, code)
    # `/` sends a reader to the language he chose before, unless it is told that he chooses now.
    path, _mark, query = url.partition("?")
    if path == home == "/":
        return f"/?language={code}" + (f"&{query}" if query else "")
    return url


@register.simple_tag(takes_context=True)
def absolute(context: template.Context, url: str) -> str:
    """The URL with scheme and host."""
    request: HttpRequest = context["request"]
    return request.build_absolute_uri(url)


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> str:
    """light or dark; empty where the system decides."""
    chosen = _theme(context)
    return "" if chosen == Theme.SYSTEM else chosen.value


@register.simple_tag(takes_context=True)
def theme_choices(context: template.Context) -> list[tuple[str, str, bool]]:
    """Value and label of each theme, and whether it is the reader's."""
    chosen = _theme(context)
    return [(value, label, value == chosen) for value, label in Theme.choices]


def _theme(context: template.Context) -> Theme:
    request: HttpRequest | None = context.get("request")
    return Theme.SYSTEM if request is None else read_theme(request)


@register.simple_tag
def question_url(question: Any, **changes: Any) -> str:
    """The URL of a board's question with some of it changed."""
    url: str = question.url(**changes)
    return url


@register.simple_tag
def place_url(question: Any, **place: Any) -> str:
    """The URL of the same board at another place."""
    url: str = question.place_url(**place)
    return url


@register.simple_tag
def profile_url(path: str, question: Any, **changes: Any) -> str:
    """The URL of a profile, its matches going on from another place."""
    url: str = question.url(path, **changes)
    return url


@register.simple_tag(takes_context=True)
def badge_snippet(context: template.Context, player: Player, game: Game, system: str) -> str:
    """The lines that show a player's badge on somebody else's page and lead here from there."""
    place = reverse("leaderboards:player-game", args=[player.handle, game.slug])
    return '<a href="{}"><img src="{}" alt="{}" height="56"></a>'.format(
        *map(
            escape,
            (
                absolute(context, place),
                absolute(context, badge_url(player, game, system)),
                f"{player.display_name} · {game.display_name} · Naiply",
            ),
        )
    )


@register.simple_tag
def badge_url(player: Player, game: Game, system: str) -> str:
    url = reverse("leaderboards:badge", args=[player.handle, game.slug])
    return url if system == System.ELO else f"{url}?system={system}"


@register.simple_tag(takes_context=True)
def frame_snippet(context: template.Context, question: BoardQuestion) -> str:
    """The lines that show the top of a board on somebody else's page."""
    url = reverse("leaderboards:embed", args=[question.game.slug])
    query = BoardQuestion(question.game, question.system, question.kind).query()
    return '<iframe src="{}" title="{}" width="340" height="600" loading="lazy"></iframe>'.format(
        *map(
            escape,
            (
                absolute(context, f"{url}?{query}" if query else url),
                f"{question.game.display_name} · Naiply",
            ),
        )
    )


@register.filter
def card(slug: str) -> str:
    """The drawing that stands for a game: its own, or the back of a card."""
    return slug if slug in GAME_CARDS else "back"
