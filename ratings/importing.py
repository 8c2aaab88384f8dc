"""Files of match reports: JSONL, one report a line, and CSV, one player a row.

Both become the same reports as the API's, by the same rules, and are recorded in batches. A file
is read line by line, as bytes, so that every problem has the line number an editor shows, and
memory does not grow with the file (but for the ids of a CSV file, see `_find_scattered`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from decimal import Decimal
from operator import itemgetter
from os import SEEK_END, PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ratings import ledger
from ratings.models import Game, Source
from ratings.names import clean_player_id
from ratings.recording import Answer, Receipt, record_matches
from ratings.reports import (
    EXTERNAL_ID,
    Report,
    ReportError,
    load_json,
    parse_points,
    parse_report,
    printable,
)

BATCH = 10_000
MOST_PROBLEMS = 1_000
"""So many problems of a file are kept; all of them are counted."""

LONGEST_LINE = 65_536
"""In bytes. A report of ten players with the longest ids has about ten thousand."""

COLUMNS = ("external_id", "game", "played_at", "team", "player", "place", "points", "termination")
OPTIONAL_COLUMNS = frozenset({"points", "termination"})


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


@dataclass(slots=True)
class ImportResult:
    """What became of a file's matches.

    `is_applied` is False where nothing was stored: in a dry run, and where all or nothing was
    asked for and not all was in order. The counts then tell what would have been.
    """

    new: int = 0
    repeated: int = 0
    conflict: int = 0
    refused: int = 0
    is_applied: bool = False
    problems: list[Problem] = dataclass_field(default_factory=list)
    problem_count: int = 0

    @property
    def is_clean(self) -> bool:
        return not self.conflict and not self.refused

    def add_problems(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.problem_count += 1
            if len(self.problems) < MOST_PROBLEMS:
                self.problems.append(problem)


Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""


def import_file(
    file: str | PathLike[str] | BinaryIO,
    *,
    source: Source,
    may_create_players: bool,
    keep_going: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportResult:
    """Records the file's matches; a stream has to be binary and able to seek.

    All or nothing, in one transaction that holds the locks of all games from the beginning: a
    later batch may name any of them, and taken one by one their order could not be kept. With
    `keep_going` each batch is a transaction of its own, and what is in order stays.
    UnreadableFile where it is no list of match reports, OSError where it cannot be opened.
    """
    with ExitStack() as stack:
        if isinstance(file, str | PathLike):
            file = stack.enter_context(Path(file).open("rb"))
        result = ImportResult()
        batches = _batches(file, result, progress)
        if keep_going and not dry_run:
            for batch in batches:
                _record(batch, source, may_create_players, result)
            result.is_applied = True
            return result
        with transaction.atomic():
            ledger.lock_games(Game.objects.values_list("slug", flat=True))
            for batch in batches:
                # Also after a problem: those further down are to be named in the same run.
                _record(batch, source, may_create_players, result)
            result.is_applied = not dry_run and (keep_going or result.is_clean)
            transaction.set_rollback(not result.is_applied)
    return result


def _batches(
    file: BinaryIO, result: ImportResult, progress: Progress | None
) -> Iterator[list[Reading]]:
    """The readings with a report; the others are put down in the result."""
    size = file.seek(0, SEEK_END)
    lines = _Lines(file)
    batch = []
    for reading in read_reports(lines):
        if reading.report is None:
            result.refused += 1
            result.add_problems(reading.problems)
        else:
            batch.append(reading)
        if len(batch) >= BATCH:
            yield batch
            batch = []
            if progress:
                progress(lines.bytes_read, size)
    if batch:
        yield batch
    if progress:
        progress(size, size)


def _record(
    batch: Sequence[Reading], source: Source, may_create_players: bool, result: ImportResult
) -> None:
    receipts = record_matches(
        [reading.report for reading in batch if reading.report],
        source=source,
        may_create_players=may_create_players,
    )
    for reading, receipt in zip(batch, receipts, strict=True):
        _count(receipt, result)
        result.add_problems(Problem(reading.line, text) for text in receipt.problems)


def _count(receipt: Receipt, result: ImportResult) -> None:
    match receipt.answer:
        case Answer.RECORDED:
            result.new += 1
        case Answer.REPEATED:
            result.repeated += 1
        case Answer.CONFLICT:
            result.conflict += 1
        case Answer.REFUSED:
            result.refused += 1


# Reading


class _Lines:
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


_UTF8_MARK = b"\xef\xbb\xbf"

# What people have tried to import elsewhere, by the bytes it begins with. In this order: a
# workbook is a ZIP archive too, and the mark of UTF-32 begins with that of UTF-16.
_OTHER_FORMATS = [
    (
        re.compile(rb"PK\x03\x04.*(\[Content_Types\]\.xml|xl/)", re.DOTALL),
        gettext_lazy("This is an Excel workbook (.xlsx): save it as CSV in UTF-8."),
    ),
    (
        re.compile(rb"PK\x03\x04.*opendocument\.spreadsheet", re.DOTALL),
        gettext_lazy("This is an OpenDocument spreadsheet (.ods): save it as CSV in UTF-8."),
    ),
    (re.compile(rb"PK\x03\x04"), gettext_lazy("This is a ZIP archive: unpack it first.")),
    (re.compile(rb"\x1f\x8b"), gettext_lazy("This is a gzip archive: unpack it first.")),
    (
        re.compile(rb"\xd0\xcf\x11\xe0"),
        gettext_lazy("This is an old Excel workbook (.xls): save it as CSV in UTF-8."),
    ),
    (
        re.compile(rb"\s*%PDF"),
        gettext_lazy("This is a PDF document: a CSV or JSONL file is needed."),
    ),
    (
        re.compile(rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff"),
        gettext_lazy("This file is in UTF-32: save it in UTF-8."),
    ),
    (
        re.compile(rb"\xff\xfe|\xfe\xff|(\x00[^\x00]){4}|([^\x00]\x00){4}"),
        gettext_lazy("This file is in UTF-16: save it in UTF-8."),
    ),
]


def read_reports(lines: _Lines) -> Iterator[Reading]:
    """The file's matches in its order. UnreadableFile where it is something else."""
    start = lines.start()
    for pattern, sentence in _OTHER_FORMATS:
        if pattern.match(start):
            raise UnreadableFile(str(sentence))
    first = next((line for _number, line in lines if line.strip(_BLANK)), None)
    if first is None:
        raise UnreadableFile(_("The file is empty."))
    if first.lstrip().startswith(b"["):
        raise UnreadableFile(
            _("This is one JSON list: write each report on a line of its own (JSONL).")
        )
    if first.lstrip().startswith(b"{") or lines.name.endswith((".jsonl", ".ndjson")):
        return _read_jsonl(lines)
    return _read_csv(lines)


def _read_jsonl(lines: _Lines) -> Iterator[Reading]:
    for number, line in lines:
        if not line.strip():
            continue
        text, fault = _decoded(line)
        if fault:
            yield Reading(number, None, [Problem(number, fault)])
            continue
        try:
            report = parse_report(load_json(text), bare_dates=True)
        except ReportError as error:
            yield Reading(number, None, [Problem(number, text) for text in error.problems])
        else:
            yield Reading(number, report)


def _decoded(line: bytes) -> tuple[str, str]:
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


# CSV


class _Row(NamedTuple):
    """A row of a CSV file, its fields without blanks around them.

    A damaged one has a `fault` instead of fields; its `external_id` is None where nobody can
    tell whose row it is.
    """

    line: int
    fault: str
    external_id: str | None
    game: str = ""
    played_at: str = ""
    termination: str = ""
    team: str = ""
    place: str = ""
    points: str = ""
    player: str = ""


_FIELDS = _Row._fields[2:]
_OF_THE_MATCH = ("game", "played_at", "termination")
_OF_THE_TEAM = ("place", "points")


@dataclass(frozen=True, slots=True)
class _Table:
    """How a CSV file is written, as its header tells."""

    header_line: int
    delimiter: str
    columns: Sequence[str]
    fields: Callable[[list[str]], tuple[str, ...]]
    """From a line's fields and one more, which is empty, those of a _Row."""

    def rows(self, lines: _Lines) -> Iterator[_Row]:
        """The rows under the header that hold anything."""
        for number, line in lines:
            if number > self.header_line and line.strip(_BLANK):
                yield self._row(number, line)

    def _row(self, number: int, line: bytes) -> _Row:
        text, fault = _decoded(line)
        cells = _split(text, self.delimiter)
        if cells is None:
            fault = fault or _("The quotation marks of the line do not pair up.")
            cells = text.split(self.delimiter)
        elif len(cells) != len(self.columns):
            fault = fault or _("The line has %(cells)d fields, but the header has %(columns)d.") % {
                "cells": len(cells),
                "columns": len(self.columns),
            }
        cells = [cell.strip() for cell in cells]
        if not fault:
            cells.append("")
            return _Row(number, "", *self.fields(cells))
        # Whatever comes after the damage may have moved to another column.
        is_known = self.columns[0] == "external_id" and EXTERNAL_ID.fullmatch(cells[0])
        return _Row(number, fault, cells[0] if is_known else None)

    def points(self, row: _Row) -> Decimal | None:
        text = row.points
        if not text:
            return None
        if self.delimiter != ",":
            text = text.replace(",", ".", 1)
        return parse_points(Decimal(text) if _NUMBER.fullmatch(text) else row.points)


_BLANK = b' \t\r\n\v\f,;"'
"""What a line without any content is made of, whatever separates the file's fields."""

_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?")


def _split(text: str, delimiter: str) -> list[str] | None:
    """The fields of a line; None where its quotation marks do not pair up.

    Each line by itself: no field that is right has a line end in it, and one lost quotation mark
    would otherwise swallow the rest of the file.
    """
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _read_header(lines: _Lines) -> _Table:
    """UnreadableFile names every column that is missing, not known or there twice."""
    number, line = next((number, line) for number, line in lines if line.strip(_BLANK))
    text, fault = _decoded(line)
    delimiter = max(",;\t", key=text.count)
    cells = _split(text, delimiter)
    if fault or cells is None:
        raise UnreadableFile(
            _("Line %(line)d is no header: %(fault)s")
            % {
                "line": number,
                "fault": fault or _("The quotation marks of the line do not pair up."),
            }
        )
    if "\r" in text.strip():
        raise UnreadableFile(_("The lines end in CR alone: save the file with LF or CRLF."))
    names = [cell.strip() for cell in cells]
    problems = [
        _('Unknown column "%(column)s".') % {"column": printable(name)}
        for name in dict.fromkeys(names)
        if name not in COLUMNS
    ]
    problems += [
        _('Column "%(column)s" is there twice.') % {"column": name}
        for name in COLUMNS
        if names.count(name) > 1
    ]
    problems += [
        _('Column "%(column)s" is missing.') % {"column": name}
        for name in COLUMNS
        if name not in names and name not in OPTIONAL_COLUMNS
    ]
    if problems:
        problems.append(
            _("The header, here on line %(line)d, names the columns %(columns)s.")
            % {"line": number, "columns": ", ".join(COLUMNS)}
        )
        raise UnreadableFile(" ".join(problems))
    places = [names.index(name) if name in names else len(names) for name in _FIELDS]
    return _Table(number, delimiter, names, itemgetter(*places))


@dataclass(slots=True)
class _Group:
    """Rows of one match that stand together; `external_id` is None while nobody can tell."""

    line: int
    external_id: str | None = None
    rows: list[_Row] = dataclass_field(default_factory=list)
    problems: list[Problem] = dataclass_field(default_factory=list)


def _read_csv(lines: _Lines) -> Iterator[Reading]:
    table = _read_header(lines)
    beginnings = _find_scattered(lines, table)
    for group in _groups(lines, table):
        if group.external_id in beginnings:
            here = group.rows[0].line
            other = next(line for line in beginnings[group.external_id] if line != here)
            group.problems.append(
                Problem(
                    group.line,
                    _(
                        'The rows of match "%(external_id)s" are not together: '
                        "others begin on line %(line)d."
                    )
                    % {"external_id": printable(group.external_id), "line": other},
                )
            )
        yield _reading(group, table)


def _groups(lines: _Lines, table: _Table) -> Iterator[_Group]:
    """The matches' rows. A damaged row spoils every match that it may belong to.

    For a match that lost a row would not be refused, but be rated as a smaller one.
    """
    group: _Group | None = None
    doubtful: int | None = None
    for row in table.rows(lines):
        if row.external_id is None:
            group = group or _Group(row.line)
            group.problems.append(Problem(row.line, row.fault))
            doubtful = row.line
            continue
        if group is None:
            group = _Group(row.line)
        elif group.external_id not in (None, row.external_id):
            yield group
            group = _Group(row.line)
            if doubtful is not None:
                group.problems.append(
                    Problem(
                        row.line,
                        _("Line %(line)d is damaged, and may belong to this match.")
                        % {"line": doubtful},
                    )
                )
        group.external_id = row.external_id
        group.rows.append(row)
        doubtful = None
    if group is not None:
        yield group


def _find_scattered(lines: _Lines, table: _Table) -> dict[str | None, list[int]]:
    """The first two lines on which the rows of a match begin, for matches that begin twice.

    A look through the whole file before anything is recorded: when the second part of a match
    comes, the first would be stored already as a smaller match. The only thing here whose memory
    grows with the file: about 130 bytes for each match.
    """
    first: dict[str, int] = {}
    scattered: dict[str | None, list[int]] = {}
    previous = None
    for row in table.rows(lines):
        if row.external_id is None or row.external_id == previous:
            continue
        previous = row.external_id
        line = first.setdefault(row.external_id, row.line)
        if line != row.line:
            scattered.setdefault(row.external_id, [line, row.line])
    return scattered


def _reading(group: _Group, table: _Table) -> Reading:
    problems = list(group.problems)
    problems += [Problem(row.line, row.fault) for row in group.rows if row.fault]
    rows = [row for row in group.rows if not row.fault]
    teams: dict[int, dict[str, Any]] = {}
    team_rows: dict[int, _Row] = {}
    for row in rows:
        try:
            team, place = _whole(row, "team"), _whole(row, "place")
            points = table.points(row)
            player = clean_player_id(row.player)
            _check_same(row, rows[0], _OF_THE_MATCH)
            _check_same(row, team_rows.setdefault(team, row), _OF_THE_TEAM)
        except ValueError as error:
            problems.append(Problem(row.line, str(error)))
            continue
        found = teams.setdefault(team, {"players": [], "place": place, "points": points})
        found["players"].append(player)
    if problems:
        return Reading(group.line, None, sorted(problems))
    data = {
        "external_id": group.external_id,
        "teams": [teams[team] for team in sorted(teams)],
        # An empty field says as little as a field that is not there.
        **{field: value for field in _OF_THE_MATCH if (value := getattr(rows[0], field))},
    }
    try:
        return Reading(group.line, parse_report(data, bare_dates=True))
    except ReportError as error:
        return Reading(group.line, None, [Problem(group.line, text) for text in error.problems])


def _whole(row: _Row, field: str) -> int:
    text: str = getattr(row, field)
    if not _WHOLE.fullmatch(text) or (number := int(text)) == 0:
        raise ValueError(
            _('Unexpected %(field)s "%(value)s": a whole number from 1 is needed.')
            % {"field": field, "value": printable(text)}
        )
    return number


def _check_same(row: _Row, first: _Row, fields: Iterable[str]) -> None:
    """ValueError unless both rows say the same in these fields."""
    if row is first:
        return
    for field in fields:
        value, other = getattr(row, field), getattr(first, field)
        if value == other:
            continue
        shown = {
            "field": field,
            "value": printable(value),
            "line": first.line,
            "other": printable(other),
        }
        if fields is _OF_THE_MATCH:
            raise ValueError(
                _(
                    'Unexpected %(field)s "%(value)s": line %(line)d, of the same match, '
                    'says "%(other)s".'
                )
                % shown
            )
        raise ValueError(
            _(
                'Unexpected %(field)s "%(value)s": line %(line)d, of the same team, '
                'says "%(other)s".'
            )
            % shown
        )
