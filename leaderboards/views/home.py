from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import get_language, get_language_from_request, override
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.matches import newest_matches, read_sides
from leaderboards.shell import Shell, read_shell
from ratings.snapshots import snapshot
from ratings.standings import leaders

LEADERS = 3
LATEST_MATCHES = 8


class LanguageForm(forms.Form):
    language = forms.ChoiceField(choices=settings.LANGUAGES)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    language = _language_to_greet_in(request)
    if language != get_language():
        return _redirect_to(language)
    response = _home(request)
    # At `/` the same URL may be a redirect for the next reader.
    patch_vary_headers(response, ["Cookie", "Accept-Language"])
    return response


@snapshot()
def _home(request: HttpRequest) -> HttpResponse:
    shell = read_shell()
    return live.answer(
        request,
        "leaderboards/home.html",
        lambda: read_home(shell),
        shell=shell,
        facts=shell.versions,
    )


def read_home(shell: Shell) -> dict[str, Any]:
    matches = newest_matches(LATEST_MATCHES)
    sides = read_sides(matches)
    rows = leaders(LEADERS)
    return {
        "boards": [(game, rows.get(game.pk, [])) for game in shell.games],
        "matches": [(match, sides[match.pk]) for match in matches],
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


def _redirect_to(language: str | None) -> HttpResponse:
    with override(language):
        response = HttpResponseRedirect(reverse("leaderboards:home"))
    patch_cache_control(response, no_store=True)
    patch_vary_headers(response, ["Cookie", "Accept-Language"])
    return response
