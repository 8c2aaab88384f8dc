from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.faq import read_answers
from leaderboards.shell import read_shell
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def faq(request: HttpRequest) -> HttpResponse:
    shell = read_shell()
    idle_days = [(game.slug, game.idle_days) for game in shell.games]
    return live.answer(
        request,
        "leaderboards/faq.html",
        lambda: read_answers(shell),
        shell=shell,
        facts=(*shell.versions, *idle_days),
    )
