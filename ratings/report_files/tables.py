"""CSV: one player a row, and the rows of a match together."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from decimal import Decimal
from operator import itemgetter
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from ratings.names import clean_player_id
from ratings.report_files.lines import BLANK, Lines, Problem, Reading, UnreadableFile, decoded
from ratings.reports import EXTERNAL_ID, ReportError, parse_points, parse_report, printable

COLUMNS = ("external_id", "game", "played_at", "team", "player", "place", "points", "termination")
OPTIONAL_COLUMNS = frozenset({"points", "termination"})


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

    def rows(self, lines: Lines) -> Iterator[_Row]:
        """The rows under the header that hold anything."""
        for number, line in lines:
            if number > self.header_line and line.strip(BLANK):
                yield self._row(number, line)

    def _row(self, number: int, line: bytes) -> _Row:
        text, fault = decoded(line)
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


def _read_header(lines: Lines) -> _Table:
    """UnreadableFile names every column that is missing, not known or there twice."""
    number, line = next((number, line) for number, line in lines if line.strip(BLANK))
    text, fault = decoded(line)
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


def read_csv(lines: Lines) -> Iterator[Reading]:
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


def _groups(lines: Lines, table: _Table) -> Iterator[_Group]:
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


def _find_scattered(lines: Lines, table: _Table) -> dict[str | None, list[int]]:
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
