from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.bots import group_bots, read_bots
from leaderboards.shell import read_shell
from ratings.bots import read_spans
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def bots(request: HttpRequest) -> HttpResponse:
    shell = read_shell()
    found = read_bots()
    # A bot without a rating changes no game's version, nor does another difficulty.
    facts = [
        (bot.pk, bot.player.handle, bot.player.name, bot.difficulty, bot.is_house) for bot in found
    ]
    return live.answer(
        request,
        "leaderboards/bot_list.html",
        lambda: {
            "groups": group_bots(found, shell.games, read_spans(shell.games)),
            "provisional_below": PROVISIONAL_BELOW,
        },
        shell=shell,
        facts=(*shell.versions, *facts),
    )
