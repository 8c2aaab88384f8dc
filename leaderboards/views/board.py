from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.questions import BoardQuestion, read_board_question
from leaderboards.shell import read_shell
from ratings.models import Rating, System
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.names import fold
from ratings.snapshots import snapshot
from ratings.standings import Board, Kind, Page

NEIGHBOURS = 11


@require_safe
@snapshot()
def board(request: HttpRequest, slug: str) -> HttpResponse:
    shell = read_shell()
    game = shell.game(slug)
    version = game.state.version
    question, seen = read_board_question(game, request.GET)
    if live.is_part(request) and seen == version:
        return live.unchanged_part()
    return live.answer(
        request,
        "leaderboards/board_detail.html",
        lambda: read_board(question, version),
        shell=shell,
        facts=(question, version),
        part="board",
    )


def read_board(question: BoardQuestion, version: int) -> dict[str, Any]:
    shown = Board(question.game, question.system, question.kind)
    sought = _sought_rating(question)
    page = _page_around(shown, sought) if sought else shown.page(question.page)
    first = page.rows[0] if page.rows and page.rows[0].rank == 1 else None
    return {
        "game": question.game,
        "question": question,
        "here": question.url(),
        "live_url": question.live_url(version),
        "page": page,
        "first": first,
        "sought": sought,
        "is_missing": bool(question.around) and sought is None,
        "systems": System.choices,
        "kinds": Kind.choices,
        "provisional_below": PROVISIONAL_BELOW,
    }


def _sought_rating(question: BoardQuestion) -> Rating | None:
    """The listed rating of whoever the question is about, if it is about anybody."""
    if not question.around:
        return None
    ratings = Rating.objects.filter(game=question.game, is_listed=True).select_related("player")
    if question.kind != Kind.EVERYONE:
        ratings = ratings.filter(is_bot=question.kind == Kind.BOTS)
    return ratings.filter(player__handle_key=fold(question.around)).first()


def _page_around(shown: Board, sought: Rating) -> Page:
    rows = shown.around(sought, NEIGHBOURS)
    return Page(rows, number=1, count=1, listed=len(rows))
