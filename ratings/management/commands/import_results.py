from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings import demo, jobs
from ratings.importing import ImportResult, import_file
from ratings.management.progress import ProgressBar, both
from ratings.models import JobKind, Source
from ratings.report_files import UnreadableFile

MOST_PROBLEMS = 50


class Command(BaseCommand):
    help = (
        "Imports match results from JSONL files (one report a line) and CSV files (one player a "
        "row). All of a file or nothing; what is stored already is left as it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument(
            "--source", required=True, metavar="NAME", help="who reports them; made if missing"
        )
        parser.add_argument(
            "--create-players", action="store_true", help="make the players that are not known"
        )
        parser.add_argument(
            "--keep-going",
            action="store_true",
            help="import what is in order, even where other lines of the file are not",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would happen and store nothing"
        )

    @no_translations
    def handle(
        self,
        *,
        files: list[Path],
        source: str,
        create_players: bool,
        keep_going: bool,
        dry_run: bool,
        **options: Any,
    ) -> None:
        reporter, is_new = get_source(source)
        results = [
            self.import_one(
                file,
                source=reporter,
                may_create_players=create_players or reporter.may_create_players,
                keep_going=keep_going,
                dry_run=dry_run,
            )
            for file in files
        ]
        if is_new and not any(result and result.is_applied for result in results):
            reporter.delete()
        elif is_new:
            self.stdout.write(f'The source "{source}" was new and has been made.')
        bad = sum(result is None or not result.is_clean for result in results)
        if bad:
            raise CommandError(f"{bad} of {len(files)} files had something refused or in conflict.")

    def import_one(
        self,
        file: Path,
        *,
        source: Source,
        may_create_players: bool,
        keep_going: bool,
        dry_run: bool,
    ) -> ImportResult | None:
        """None where the file could not be read at all."""
        try:
            with (
                ProgressBar(f"Importing {file.name}", self.stderr) as bar,
                jobs.watched(
                    jobs.job(JobKind.IMPORT, f"{file.name} ({source})"), is_kept=not dry_run
                ) as watch,
            ):
                result = import_file(
                    file,
                    source=source,
                    may_create_players=may_create_players,
                    keep_going=keep_going,
                    dry_run=dry_run,
                    progress=both(bar, watch),
                )
                watch.job.result = summary(result, dry_run=dry_run)
        except UnreadableFile as error:
            self.stderr.write(f"{file}: {error}")
            return None
        except OSError as error:
            self.stderr.write(f"{file}: cannot be read ({error.strerror}).")
            return None
        for line, text in result.problems[:MOST_PROBLEMS]:
            self.stderr.write(f"{file}, line {line}: {text}")
        if result.problem_count > MOST_PROBLEMS:
            self.stderr.write(f"{file}: and {result.problem_count - MOST_PROBLEMS:,} more.")
        self.stdout.write(f"{file}: {summary(result, dry_run=dry_run)}")
        return result


def get_source(name: str) -> tuple[Source, bool]:
    """The source and whether it was made now. CommandError where it may not be used."""
    if name == demo.SOURCE:
        raise CommandError(f'The source "{name}" is the demo\'s own: choose another name.')
    source = Source.objects.filter(name=name).first()
    if source is None:
        source = Source(name=name)
        try:
            source.full_clean()
        except ValidationError as error:
            raise CommandError(f'The source "{name}": {" ".join(error.messages)}') from None
        source.save()
        return source, True
    if not source.is_active:
        raise CommandError(f'The source "{name}" is not active: switch it on in the admin first.')
    return source, False


def summary(result: ImportResult, *, dry_run: bool) -> str:
    counts = (
        f"{result.new:,} new, {result.repeated:,} repeated, {result.conflict:,} in conflict, "
        f"{result.refused:,} refused."
    )
    if dry_run:
        return f"{counts} A dry run: nothing was stored."
    return counts if result.is_applied else f"{counts} Nothing of it was stored."
