"""The lines of a file of reports, numbered as an editor numbers them, and what is found in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from django.utils.translation import gettext as _

from ratings.reports import Report

LONGEST_LINE = 65_536
"""In bytes. A report of ten players with the longest ids has about ten thousand."""

BLANK = b' \t\r\n\v\f,;"'
_UTF8_MARK = b"\xef\xbb\xbf"


class UnreadableFile(ValueError):
    """A file that holds no list of match reports at all. The text says what it is instead."""


class Problem(NamedTuple):
    line: int
    text: str


class Reading(NamedTuple):
    """A match found in a file, from `line` on: its report, or the problems that it has."""

    line: int
    report: Report | None
    problems: Sequence[Problem] = ()


class Lines:
    """The numbered lines of a file as bytes, from its beginning at each iteration.

    Of a line that is too long only the beginning comes, and one byte more than is allowed.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.bytes_read = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        self.file.seek(0)
        self.bytes_read = 0
        number = 0
        while line := self.file.readline(LONGEST_LINE + 1):
            number += 1
            self.bytes_read += len(line)
            rest = line
            while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
                rest = self.file.readline(LONGEST_LINE + 1)
                self.bytes_read += len(rest)
            if number == 1:
                line = line.removeprefix(_UTF8_MARK)
            yield number, line

    @property
    def name(self) -> str:
        return str(getattr(self.file, "name", ""))

    def start(self) -> bytes:
        self.file.seek(0)
        return self.file.read(4096)


def decoded(line: bytes) -> tuple[str, str]:
    """The line's text, and what is wrong with it: empty for nothing."""
    if len(line) > LONGEST_LINE:
        fault = _("The line is longer than %(most)d bytes.") % {"most": LONGEST_LINE}
        return line.decode(errors="replace"), fault
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        fault = _(
            "Byte %(position)d, %(byte)s, is not UTF-8: the file may be in Latin-1 "
            "(Windows-1252); save it in UTF-8."
        ) % {"position": error.start + 1, "byte": f"0x{line[error.start]:02X}"}
        return line.decode(errors="replace"), fault
    if "\0" in text:
        return text, _("The line holds a NUL byte: the file is damaged, or no text.")
    return text, ""
