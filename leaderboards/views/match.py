from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.comparing import MOST, CompareQuestion
from leaderboards.matches import read_sides
from leaderboards.receipts import read_receipt
from leaderboards.shell import read_shell
from ratings.models import Match
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def match(request: HttpRequest, match_id: int) -> HttpResponse:
    shell = read_shell()
    played = Match.objects.select_related("game__state").filter(pk=match_id).first()
    if played is None:
        raise Http404
    return live.answer(
        request,
        "leaderboards/match_detail.html",
        lambda: read_match(played),
        shell=shell,
        facts=(played.game.state.version,),
    )


def read_match(played: Match) -> dict[str, Any]:
    sides = read_sides([played])[played.pk]
    handles = [line.player.handle for side in sides for line in side.lines]
    return {
        "match": played,
        "game": played.game,
        "sides": sides,
        "receipt": read_receipt(played, sides),
        "compare_url": CompareQuestion(played.game, tuple(handles[:MOST])).url(),
    }
