"""A board as a file for spreadsheets.

A spreadsheet runs what begins like a formula, whoever chose the name it stands in. Such a cell
gets an apostrophe in front, which a spreadsheet takes for "text follows".
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC
from io import StringIO

from ratings.models import System
from ratings.standings import Board, Row

MOST_ROWS = 10_000
BYTE_ORDER_MARK = "\ufeff"
"""Without it a spreadsheet takes UTF-8 for the letters of an old Windows."""
FORMULA_STARTS = ("=", "+", "-", "@")

COLUMNS = (
    "rank", "handle", "name", "kind", "rating", "exact_rating", "uncertainty", "matches", "won",
    "drawn", "lost", "provisional", "last_played_at",
)  # fmt: skip


def write_sheet(board: Board) -> str:
    """The first MOST_ROWS of the board, the heads of the columns above them.

    Texts in quotes, numbers as they are: a point before the decimals, no groups.
    """
    file = StringIO()
    file.write(BYTE_ORDER_MARK)
    sheet = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
    sheet.writerow(COLUMNS)
    sheet.writerows(_lines(board, board.walk(MOST_ROWS)))
    return file.getvalue()


def _lines(board: Board, rows: Iterable[Row]) -> Iterator[tuple[str | float, ...]]:
    for row in rows:
        rating = row.rating
        yield (
            row.rank,
            as_text(rating.player.handle),
            as_text(rating.player.name),
            "bot" if rating.is_bot else "person",
            row.shown,
            board.exact(rating),
            rating.sigma if board.system == System.OPENSKILL else "",
            rating.matches,
            rating.won,
            rating.drawn,
            rating.lost,
            "yes" if rating.is_provisional else "no",
            rating.last_played_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        )


def as_text(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    # NFKC turns the wide and small forms of the signs, which some spreadsheets heed, into them.
    begin = unicodedata.normalize("NFKC", text[:1])
    is_blank = text[:1].isspace() or unicodedata.category(text[:1] or "x")[0] == "C"
    bare = unicodedata.normalize("NFKC", text.lstrip())
    if is_blank or begin.startswith(FORMULA_STARTS) or bare.startswith(FORMULA_STARTS):
        return "'" + text
    return text
