from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings.management.progress import ProgressBar
from ratings.replaying import TOLERANCE, Replayed, UnusableDownload, replay_download


class Command(BaseCommand):
    help = (
        "Recomputes a game's board from its download alone, without a database, and compares it "
        "with what the file says of the players. Exit code 1 where anything differs."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="as the site offers it")

    @no_translations
    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            with ProgressBar("Replaying", self.stderr) as bar:
                replayed = replay_download(file, progress=bar)
        except UnusableDownload as error:
            raise CommandError(f"{file}: {error}") from None
        except OSError as error:
            raise CommandError(f"{file}: cannot be read ({error.strerror}).") from None
        for line in board_lines(replayed):
            self.stdout.write(line)
        for difference in replayed.differences:
            self.stdout.write(f"  {difference}")
        if replayed.count > len(replayed.differences):
            self.stdout.write(f"  and {replayed.count - len(replayed.differences):,} more")
        if replayed.count:
            raise CommandError(
                f"{replayed.count:,} numbers differ by more than {TOLERANCE:g} from the replay."
            )
        self.stdout.write(f"Everything agrees to {TOLERANCE:g}.")


def board_lines(replayed: Replayed) -> list[str]:
    header = replayed.header
    title = (
        f"{header.game}, version {header.version:,}: {header.matches:,} matches and "
        f"{header.players:,} players replayed."
    )
    names = [row.handle or "(not shown)" for row in replayed.board]
    width = max(map(len, names), default=0)
    return [
        title,
        *(
            f"{row.rank:>4}  {name:<{width}}  Elo {row.elo:.1f}  OpenSkill {row.openskill:.1f}"
            for row, name in zip(replayed.board, names, strict=True)
        ),
    ]
