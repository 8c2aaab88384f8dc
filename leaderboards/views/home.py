from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import get_language, get_language_from_request, override
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.finding import MOST_FOUND, find_players
from leaderboards.matches import newest_matches, read_sides
from leaderboards.questions import read_search
from leaderboards.shell import Shell, read_shell
from ratings.models import Player
from ratings.snapshots import snapshot
from ratings.standings import leaders

LEADERS = 3
LATEST_MATCHES = 8


class LanguageForm(forms.Form):
    language = forms.ChoiceField(choices=settings.LANGUAGES)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    language = _language_to_greet_in(request)
    search = read_search(request.GET)
    if language != get_language():
        return _redirect_to(language, search)
    response = _home(request, search)
    # At `/` the same URL may be a redirect for the next reader.
    patch_vary_headers(response, ["Cookie", "Accept-Language"])
    return response


@snapshot()
def _home(request: HttpRequest, search: str) -> HttpResponse:
    shell = read_shell()
    found = find_players(search)
    names = [(player.handle, player.name) for player in found]
    return live.answer(
        request,
        "leaderboards/home.html",
        lambda: read_home(shell, search, found),
        shell=shell,
        facts=(shell.versions, search, names),
    )


def read_home(shell: Shell, search: str, found: Sequence[Player]) -> dict[str, Any]:
    matches = newest_matches(LATEST_MATCHES)
    sides = read_sides(matches)
    rows = leaders(LEADERS)
    return {
        "boards": [(game, rows.get(game.pk, [])) for game in shell.games],
        "matches": [(match, sides[match.pk]) for match in matches],
        "here": _url(search),
        "search": search,
        "found": found[:MOST_FOUND],
        "most_found": MOST_FOUND,
        "has_more_found": len(found) > MOST_FOUND,
    }


def _language_to_greet_in(request: HttpRequest) -> str | None:
    """The language of this page, or at `/` the one that the reader chooses, chose or prefers."""
    if get_language() != settings.LANGUAGE_CODE:
        return get_language()
    form = LanguageForm(request.GET)
    if form.is_valid():
        chosen: str = form.cleaned_data["language"]
        return chosen
    return get_language_from_request(request)


def _url(search: str) -> str:
    home = reverse("leaderboards:home")
    return f"{home}?{urlencode({'q': search})}" if search else home


def _redirect_to(language: str | None, search: str) -> HttpResponse:
    with override(language):
        response = HttpResponseRedirect(_url(search))
    patch_cache_control(response, no_store=True)
    patch_vary_headers(response, ["Cookie", "Accept-Language"])
    return response
