"""The files in which each game's history can be had: which there are, how large and how old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ratings.download import path_of
from ratings.models import Game


@dataclass(frozen=True, slots=True)
class Download:
    game: Game
    path: Path
    size: int
    written_at: datetime
    etag: str


def find_download(game: Game) -> Download | None:
    """The game's file as it is now; None where none has been written yet."""
    path = path_of(game)
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return Download(
        game,
        path,
        size=found.st_size,
        written_at=datetime.fromtimestamp(found.st_mtime, UTC),
        etag=f'"{found.st_mtime_ns:x}-{found.st_size:x}"',
    )
