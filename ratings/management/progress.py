"""How far a command is: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from django.core.management.base import OutputWrapper

WIDTH = 30
SECONDS_BETWEEN_LINES = 10
_CLEAR = "\r\x1b[K"


class ProgressBar:
    """Context manager; call it with what is done and what there is in all. Gone at the end."""

    def __init__(self, title: str, stream: OutputWrapper) -> None:
        self.title = title
        self.stream = stream
        self.is_terminal = stream.isatty()
        self.last_line_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.is_terminal:
            self._write(_CLEAR)

    def __call__(self, done: float, total: float) -> None:
        share = done / total if total else 1.0
        if self.is_terminal:
            full = round(share * WIDTH)
            bar = "#" * full + "." * (WIDTH - full)
            self._write(f"{_CLEAR}{self.title} [{bar}] {share:4.0%}")
        elif time.monotonic() - self.last_line_at >= SECONDS_BETWEEN_LINES:
            self.last_line_at = time.monotonic()
            self._write(f"{self.title}: {share:.0%}\n")

    def _write(self, text: str) -> None:
        # Django's stderr is red, which is for what went wrong.
        self.stream.write(text, style_func=str, ending="")
        self.stream.flush()


def both(*told: Callable[[float, float], None]) -> Callable[[float, float], None]:
    """Tells each of them."""

    def tell(done: float, total: float) -> None:
        for each in told:
            each(done, total)

    return tell
