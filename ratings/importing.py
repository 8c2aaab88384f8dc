"""Recording whole files of match reports."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import SEEK_END, PathLike
from pathlib import Path
from typing import BinaryIO

from ratings import ledger
from ratings.jobs import matches_done
from ratings.models import Source
from ratings.recording import TRIES, Answer, Intake, Overtaken, Receipt
from ratings.report_files import Lines, Problem, Reading, read_reports

BATCH = 10_000
MOST_PROBLEMS = 1_000
"""So many problems of a file are kept; all of them are counted."""


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
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0

    @property
    def is_clean(self) -> bool:
        return not self.conflict and not self.refused

    def add_problems(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.problem_count += 1
            if len(self.problems) < MOST_PROBLEMS:
                self.problems.append(problem)


Progress = Callable[[float, float], None]
"""Called with how many thirds are done, and that there are three: reading, rating and writing."""

THIRDS = 3


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

    The whole file is read, put aside and rated without a lock, and written at the end at once:
    all or nothing, or with `keep_going` all that is in order. A crash leaves nothing.
    UnreadableFile where it is no list of match reports, OSError where it cannot be opened.
    """
    with ExitStack() as stack:
        stack.enter_context(_no_search_for_cycles())
        if isinstance(file, str | PathLike):
            file = stack.enter_context(Path(file).open("rb"))
        for _attempt in range(TRIES - 1):
            try:
                return _import_once(file, source, may_create_players, keep_going, dry_run, progress)
            except Overtaken:
                continue
        return _import_once(file, source, may_create_players, keep_going, dry_run, progress)


def _import_once(
    file: BinaryIO,
    source: Source,
    may_create_players: bool,
    keep_going: bool,
    dry_run: bool,
    progress: Progress | None,
) -> ImportResult:
    result = ImportResult()
    with ledger.stage() as staged:
        intake = Intake(source, staged, may_create_players=may_create_players, at=datetime.now(UTC))
        for batch in _batches(file, result, progress):
            # Also after a problem: those further down are to be named in the same run.
            _take(batch, intake, result)
        if result.new and not dry_run and (keep_going or result.is_clean):
            intake.store(on_match=_matches_rated(result.new, progress))
        result.is_applied = not dry_run and (keep_going or result.is_clean)
    if progress:
        progress(THIRDS, THIRDS)
    return result


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Spares an import a sixth of its time.

    A batch makes a few hundred thousand objects that all live until it is written, and none of
    them in a cycle; Python would go through them again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _batches(
    file: BinaryIO, result: ImportResult, progress: Progress | None
) -> Iterator[list[Reading]]:
    """The readings with a report; the others are put down in the result."""
    size = file.seek(0, SEEK_END)
    lines = Lines(file)
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
                progress(lines.bytes_read / size, THIRDS)
    if batch:
        yield batch


def _matches_rated(new: int, progress: Progress | None) -> Callable[[], None] | None:
    """What to call for each match that is rated; stored ones that come after are not counted."""
    if progress is None:
        return None
    return matches_done(lambda done, total: progress(1 + done / total, THIRDS), new)


def _take(batch: Sequence[Reading], intake: Intake, result: ImportResult) -> None:
    receipts = intake.take([reading.report for reading in batch if reading.report])
    for reading, receipt in zip(batch, receipts, strict=True):
        _count(receipt, result)
        result.add_problems(Problem(reading.line, text) for text in receipt.problems)


def _count(receipt: Receipt, result: ImportResult) -> None:
    match receipt.answer:
        case Answer.WAITING:
            result.new += 1
        case Answer.REPEATED:
            result.repeated += 1
        case Answer.CONFLICT:
            result.conflict += 1
        case Answer.REFUSED:
            result.refused += 1
