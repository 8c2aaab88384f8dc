from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.views.decorators.http import require_safe

from leaderboards import turns
from leaderboards.live import page_etag
from leaderboards.questions import BoardQuestion, read_board_question
from leaderboards.sheets import MOST_ROWS, write_sheet
from leaderboards.shell import read_shell
from ratings.snapshots import snapshot
from ratings.standings import Board, Kind

free_places = turns.places()
"""A long board takes half a second of a thread to read and to write."""


@require_safe
@snapshot()
def board_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """A board as a CSV file, its first rows where it is long: the file's name says so then.

    Read page by page into one answer, little more than a megabyte. Sent while it is read, it would
    keep a database transaction open for as long as the reader's line needs.
    """
    shell = read_shell()
    game = shell.game(slug)
    asked, _version = read_board_question(game, request.GET)
    question = BoardQuestion(game, asked.system, asked.kind)
    etag = page_etag(request, shell, (question.query(), game.state.version))
    response = get_conditional_response(request, etag=etag) or send(question)
    if response.status_code in (200, 304):
        response["ETag"] = etag
        patch_cache_control(response, private=True, no_cache=True)
    return response


def send(question: BoardQuestion) -> HttpResponse:
    if not free_places.acquire(blocking=False):
        return turns.come_again()
    try:
        board = Board(question.game, question.system, question.kind)
        name = "-".join(_name_parts(question, is_cut=board.listed() > MOST_ROWS))
        return HttpResponse(
            write_sheet(board).encode(),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
        )
    finally:
        free_places.release()


def _name_parts(question: BoardQuestion, *, is_cut: bool) -> list[str]:
    """Slugs and choices of ours only, so that the name needs no quoting."""
    parts = [question.game.slug, question.system]
    if question.kind != Kind.EVERYONE:
        parts.append(question.kind)
    if is_cut:
        parts.append(f"first-{MOST_ROWS}")
    return parts
