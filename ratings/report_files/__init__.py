"""Files of match reports: JSONL, one report a line, and CSV, one player a row.

Both become the same reports as the API's, by the same rules. A file is read line by line, as
bytes, so that every problem has the line number an editor shows, and memory does not grow with
the file (but for the ids of a CSV file, see `tables._find_scattered`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ratings.report_files.lines import BLANK, Lines, Problem, Reading, UnreadableFile, decoded
from ratings.report_files.tables import read_csv
from ratings.reports import ReportError, load_json, parse_report

__all__ = ["Lines", "Problem", "Reading", "UnreadableFile", "read_reports"]

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


def read_reports(lines: Lines) -> Iterator[Reading]:
    """The file's matches in its order. UnreadableFile where it is something else."""
    start = lines.start()
    for pattern, sentence in _OTHER_FORMATS:
        if pattern.match(start):
            raise UnreadableFile(str(sentence))
    first = next((line for _number, line in lines if line.strip(BLANK)), None)
    if first is None:
        raise UnreadableFile(_("The file is empty."))
    if first.lstrip().startswith(b"["):
        raise UnreadableFile(
            _("This is one JSON list: write each report on a line of its own (JSONL).")
        )
    if first.lstrip().startswith(b"{") or lines.name.endswith((".jsonl", ".ndjson")):
        return _read_jsonl(lines)
    return read_csv(lines)


def _read_jsonl(lines: Lines) -> Iterator[Reading]:
    for number, line in lines:
        if not line.strip():
            continue
        text, fault = decoded(line)
        if fault:
            yield Reading(number, None, [Problem(number, fault)])
            continue
        try:
            report = parse_report(load_json(text), bare_dates=True)
        except ReportError as error:
            yield Reading(number, None, [Problem(number, text) for text in error.problems])
        else:
            yield Reading(number, report)
