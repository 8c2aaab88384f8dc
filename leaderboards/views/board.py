from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live, sheets
from leaderboards.charts import draw_histogram
from leaderboards.finding import MOST_FOUND, find_players, place_players
from leaderboards.moves import SPAN
from leaderboards.questions import BoardQuestion, read_board_question
from leaderboards.shell import read_shell
from ratings.models import Player, Rating, System
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.names import fold
from ratings.snapshots import snapshot
from ratings.standings import PAGE_SIZE, Board, Census, Kind, Page

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
    # Whoever is found may have no rating in this game: its version then does not tell of him.
    found = find_players(question.search)
    return live.answer(
        request,
        "leaderboards/board_detail.html",
        lambda: read_board(question, version, found) | {"is_news": seen is not None},
        shell=shell,
        facts=(question, version, [(player.handle, player.name) for player in found]),
        part="board",
    )


def read_board(question: BoardQuestion, version: int, found: Sequence[Player]) -> dict[str, Any]:
    since = datetime.now(UTC) - SPAN
    shown = Board(question.game, question.system, question.kind, since=since)
    census = shown.census()
    sought = _sought_rating(question)
    page = Page([], 1, 1, census.listed)
    if not question.search:
        page = _page(question, shown, census, sought)
    first = page.rows[0] if page.rows and page.rows[0].rank == 1 else None
    marked = sought.pk if sought else _pk_at_rank(question, page)
    return {
        "game": question.game,
        "question": question,
        "here": question.url(),
        "live_url": question.live_url(version),
        "page": page,
        "first": first,
        "sought": sought,
        "marked": marked,
        "is_missing": bool(question.around) and sought is None,
        "is_beyond": question.rank is not None and question.rank > census.listed > 0,
        "found": place_players(found[:MOST_FOUND], shown, census) if found else [],
        "most_found": MOST_FOUND,
        "has_more_found": len(found) > MOST_FOUND,
        "histogram": draw_histogram(census, shown.shown(sought) if sought else None),
        "standing": census.standing_at(shown.shown(sought)) if sought else None,
        "systems": System.choices,
        "kinds": Kind.choices,
        "provisional_below": PROVISIONAL_BELOW,
        "most_in_sheet": sheets.MOST_ROWS,
    }


def _sought_rating(question: BoardQuestion) -> Rating | None:
    """The listed rating of whoever the question is about, if it is about anybody."""
    if not question.around:
        return None
    ratings = Rating.objects.filter(game=question.game, is_listed=True).select_related("player")
    if question.kind != Kind.EVERYONE:
        ratings = ratings.filter(is_bot=question.kind == Kind.BOTS)
    return ratings.filter(player__handle_key=fold(question.around)).first()


def _page(question: BoardQuestion, shown: Board, census: Census, sought: Rating | None) -> Page:
    if sought:
        rows = shown.around(sought, NEIGHBOURS, census)
        return Page(rows, number=1, count=1, listed=census.listed)
    number = shown.page_of(question.rank) if question.rank else question.page
    return shown.page(number, census)


def _pk_at_rank(question: BoardQuestion, page: Page) -> int | None:
    """The rating at the rank that was asked for: inside a tie, at so many from the top."""
    if question.rank is None or not page.rows:
        return None
    place = min(question.rank, page.listed) - 1
    return page.rows[place % PAGE_SIZE].rating.pk
