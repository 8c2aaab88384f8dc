from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.profiles import read_appearances, read_records, status_sentence
from leaderboards.shell import read_shell
from ratings.models import Game, Player
from ratings.models.player import WITHOUT_PROFILE
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.names import fold
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def player(request: HttpRequest, handle: str) -> HttpResponse:
    """A person or a bot, over all games."""
    found = _find_player(handle)
    if found.handle != handle:
        return HttpResponsePermanentRedirect(found.get_absolute_url())
    shell = read_shell()
    return live.answer(
        request,
        "leaderboards/player_detail.html",
        lambda: read_player(found, shell.games),
        shell=shell,
        facts=(*shell.versions, *_facts(found)),
    )


@require_safe
@snapshot()
def player_game(request: HttpRequest, handle: str, slug: str) -> HttpResponse:
    """A person or a bot in one game."""
    found = _find_player(handle)
    shell = read_shell()
    game = shell.game(slug)
    if found.handle != handle:
        return HttpResponsePermanentRedirect(
            reverse("leaderboards:player-game", args=[found.handle, slug])
        )
    return live.answer(
        request,
        "leaderboards/player_game.html",
        lambda: {"game": game, **read_player(found, [game], game)},
        shell=shell,
        facts=(game.state.version, *_facts(found)),
    )


def read_player(found: Player, games: list[Game], game: Game | None = None) -> dict[str, Any]:
    has_profile = found.status not in WITHOUT_PROFILE
    return {
        "player": found,
        "status_sentence": status_sentence(found),
        "has_profile": has_profile,
        "records": read_records(found, games) if has_profile else [],
        "appearances": read_appearances(found, game) if has_profile else [],
        "provisional_below": PROVISIONAL_BELOW,
    }


def _find_player(handle: str) -> Player:
    """The player by any spelling of the handle; Http404 where there is none."""
    found = Player.objects.select_related("bot").filter(handle_key=fold(handle)).first()
    if found is None:
        raise Http404
    return found


def _facts(found: Player) -> tuple[str, ...]:
    """What may change of a player who has no rating, and so changes no game's version."""
    return (found.handle, found.name, found.status)
