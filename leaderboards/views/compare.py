from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import comparing, live
from leaderboards.comparing import Answer
from leaderboards.shell import read_shell
from ratings.models import Player
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """A few players of a game side by side."""
    shell = read_shell()
    game = shell.game(slug)
    answer = comparing.read_compare_question(game, request.GET)
    found = comparing.find_more(answer)
    shown = [(player.handle, player.name, player.status) for player in (*answer.players, *found)]
    return live.answer(
        request,
        "leaderboards/compare.html",
        lambda: read_comparison(answer, found),
        shell=shell,
        facts=(game.state.version, answer.question, answer.problems, shown),
    )


def read_comparison(answer: Answer, found: list[Player]) -> dict[str, Any]:
    question = answer.question
    return {
        "game": question.game,
        "question": question,
        "here": question.url(),
        "problems": answer.problems,
        "comparison": comparing.compare(question.game, answer.players),
        "has_room": len(answer.players) < comparing.MOST,
        "found": [(player, question.with_player(player.handle)) for player in found],
        "without": [(player, question.without_player(player.handle)) for player in answer.players],
        "most": comparing.MOST,
        "fewest": comparing.FEWEST,
        "most_matches": comparing.MOST_MATCHES,
        "provisional_below": PROVISIONAL_BELOW,
    }
