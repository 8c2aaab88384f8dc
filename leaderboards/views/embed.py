from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboards import elsewhere
from leaderboards.elsewhere import for_other_sites
from leaderboards.live import page_etag
from leaderboards.questions import BoardQuestion, read_board_question
from leaderboards.shell import read_shell
from ratings.models import System
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.snapshots import snapshot
from ratings.standings import Board

LINES = 10


@require_safe
@for_other_sites()
@snapshot()
def embed(request: HttpRequest, slug: str) -> HttpResponse:
    """The first ten of a board, for a frame in somebody else's page."""
    shell = read_shell()
    theme = elsewhere.read_theme_asked(request)
    game = next((game for game in shell.games if game.slug == slug), None)
    if game is None:
        context = {"games": shell.games, "chosen_theme": theme}
        return render(request, "leaderboards/embed.html", context, status=404)
    asked, _version = read_board_question(game, request.GET)
    question = BoardQuestion(game, asked.system, asked.kind)
    return elsewhere.answer(
        request,
        "leaderboards/embed.html",
        lambda: read_embed(question) | {"chosen_theme": theme},
        etag=page_etag(request, shell, (game.state.version, question.query(), theme)),
    )


def read_embed(question: BoardQuestion) -> dict[str, Any]:
    board = Board(question.game, question.system, question.kind, page_size=LINES)
    return {
        "game": question.game,
        "question": question,
        "system": System(question.system).label,
        "page": board.page(1),
        "provisional_below": PROVISIONAL_BELOW,
    }
