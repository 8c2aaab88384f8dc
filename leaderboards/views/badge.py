from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboards import elsewhere
from leaderboards.badges import STYLE_SOURCES, make_badge, missing_badge
from leaderboards.elsewhere import for_other_sites
from leaderboards.live import page_etag
from leaderboards.shell import read_shell
from ratings.models import Rating, System
from ratings.models.player import WITHOUT_PROFILE
from ratings.players import find_by_handle
from ratings.snapshots import snapshot

SVG = "image/svg+xml"


class BadgeForm(forms.Form):
    """A badge's query string. What cannot be used counts as not given."""

    system = forms.ChoiceField(choices=System, required=False)


@require_safe
@for_other_sites(styles=STYLE_SOURCES)
@snapshot()
def badge(request: HttpRequest, handle: str, slug: str) -> HttpResponse:
    """A player's standing in a game as a picture; one that says so where there is none."""
    shell = read_shell()
    theme = elsewhere.read_theme_asked(request)
    game = next((game for game in shell.games if game.slug == slug), None)
    # A badge goes on under a handle that its player has given up.
    found = find_by_handle(handle)
    if game is None or found is None or found.player.status in WITHOUT_PROFILE:
        context = {"badge": missing_badge(theme)}
        content_type = f"{SVG}; charset=utf-8"
        return render(
            request, "leaderboards/badge.svg", context, content_type=content_type, status=404
        )
    player, system = found.player, read_system(request)
    rating = Rating.objects.filter(game=game, player=player).first()
    facts = (game.state.version, player.handle, player.name, system, theme)
    return elsewhere.answer(
        request,
        "leaderboards/badge.svg",
        lambda: {"badge": make_badge(player, game, rating, system, theme)},
        etag=page_etag(request, shell, facts),
        content_type=SVG,
    )


def read_system(request: HttpRequest) -> str:
    form = BadgeForm(request.GET)
    form.is_valid()
    system: str = form.cleaned_data.get("system") or System.ELO.value
    return system
