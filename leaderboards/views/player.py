from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.bots import author_of
from leaderboards.opponents import NET_DAYS
from leaderboards.profile_questions import ProfileQuestion, read_profile_question
from leaderboards.profiles import (
    read_appearances,
    read_game_profile,
    read_records,
    status_sentence,
)
from leaderboards.shell import read_shell
from leaderboards.versions import MOST_MATCHES
from ratings.models import Game, Player, System
from ratings.models.player import WITHOUT_PROFILE
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.names import fold
from ratings.players import find_called
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def player(request: HttpRequest, handle: str) -> HttpResponse:
    """A person or a bot, over all games."""
    found = _find_player(handle)
    if found.handle != handle:
        return _sent_to(found.get_absolute_url(), found, handle)
    shell = read_shell()
    question = read_profile_question(request.GET)
    return live.answer(
        request,
        "leaderboards/player_detail.html",
        lambda: read_player(found, shell.games, question),
        shell=shell,
        facts=(*shell.versions, question, *_facts(found)),
    )


@require_safe
@snapshot()
def player_game(request: HttpRequest, handle: str, slug: str) -> HttpResponse:
    """A person or a bot in one game."""
    found = _find_player(handle)
    shell = read_shell()
    game = shell.game(slug)
    if found.handle != handle:
        url = reverse("leaderboards:player-game", args=[found.handle, slug])
        return _sent_to(url, found, handle)
    question = read_profile_question(request.GET)
    return live.answer(
        request,
        "leaderboards/player_game.html",
        lambda: read_player_in_game(found, game, shell.games, question),
        shell=shell,
        facts=(*shell.versions, question, *_facts(found)),
    )


def read_player(
    found: Player, games: Sequence[Game], question: ProfileQuestion, game: Game | None = None
) -> dict[str, Any]:
    has_profile = found.status not in WITHOUT_PROFILE
    path = (
        reverse("leaderboards:player-game", args=[found.handle, game.slug])
        if game
        else found.get_absolute_url()
    )
    return {
        "player": found,
        "question": question,
        "status_sentence": status_sentence(found),
        "has_profile": has_profile,
        "records": read_records(found, games) if has_profile else [],
        "path": path,
        "appearances": read_appearances(found, question, game) if has_profile else None,
        "provisional_below": PROVISIONAL_BELOW,
    }


def read_player_in_game(
    found: Player, game: Game, games: Sequence[Game], question: ProfileQuestion
) -> dict[str, Any]:
    context = read_player(found, games, question, game)
    record = next((record for record in context["records"] if record.game == game), None)
    return {
        **context,
        "game": game,
        "record": record,
        "author": author_of(found),
        "profile": record and read_game_profile(found, record, question, datetime.now(UTC)),
        "systems": [
            (value, label, question.url(context["path"], system=value))
            for value, label in System.choices
        ],
        "net_days": NET_DAYS,
        "most_of_version": MOST_MATCHES,
    }


def _sent_to(url: str, found: Player, handle: str) -> HttpResponse:
    """To the handle as it is today: for good where only its spelling differs.

    A former handle may be taken back, and two redirects that browsers keep would run in circles.
    """
    return redirect(url, permanent=fold(found.handle) == fold(handle))


def _find_player(handle: str) -> Player:
    """The player by any spelling of the handle, a former one included; Http404 without one."""
    for found in find_called([handle]).values():
        return found
    raise Http404


def _facts(found: Player) -> tuple[str, ...]:
    """What may change of a player who has no rating, and so changes no game's version."""
    return (found.handle, found.name, found.status)
