from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboards import elsewhere
from leaderboards.badges import STYLE_SOURCE, make_badge, missing_badge
from leaderboards.elsewhere import for_other_sites
from leaderboards.live import page_etag
from leaderboards.shell import read_shell
from ratings.models import Player, Rating, System
from ratings.names import fold
from ratings.snapshots import snapshot

SVG = "image/svg+xml"


class BadgeForm(forms.Form):
    """A badge's query string. What cannot be used counts as not given."""

    system = forms.ChoiceField(choices=System, required=False)


@require_safe
@for_other_sites(styles=[STYLE_SOURCE])
@snapshot()
def badge(request: HttpRequest, handle: str, slug: str) -> HttpResponse:
    """A player's standing in a game as a picture; one that says so where there is none."""
    shell = read_shell()
    game = next((game for game in shell.games if game.slug == slug), None)
    player = Player.objects.with_profile().filter(handle_key=fold(handle)).first()
    if game is None or player is None:
        context = {"badge": missing_badge()}
        content_type = f"{SVG}; charset=utf-8"
        return render(
            request, "leaderboards/badge.svg", context, content_type=content_type, status=404
        )
    system = read_system(request)
    rating = Rating.objects.filter(game=game, player=player).first()
    return elsewhere.answer(
        request,
        "leaderboards/badge.svg",
        lambda: {"badge": make_badge(player, game, rating, system)},
        etag=page_etag(request, shell, (game.state.version, player.handle, player.name, system)),
        content_type=SVG,
    )


def read_system(request: HttpRequest) -> str:
    form = BadgeForm(request.GET)
    form.is_valid()
    system: str = form.cleaned_data.get("system") or System.ELO.value
    return system
