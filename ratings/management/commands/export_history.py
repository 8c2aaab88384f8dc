from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings import ledger
from ratings.download import write_download
from ratings.jobs import matches_done
from ratings.management.arguments import chosen_games
from ratings.management.progress import ProgressBar


class Command(BaseCommand):
    help = (
        "Writes each game's history into a file that anybody can replay (replay_download). The "
        "nightly task does the same."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("games", nargs="*", metavar="GAME", help="only these games")
        parser.add_argument(
            "--folder", type=Path, help="where to write them, instead of where the site looks"
        )

    @no_translations
    def handle(self, *, games: list[str], folder: Path | None, **options: Any) -> None:
        for game in chosen_games(games):
            count = ledger.count_history(game)
            try:
                with ProgressBar(f"Writing {game.slug}", self.stderr) as bar:
                    path = write_download(game, folder=folder, on_match=matches_done(bar, count))
            except OSError as error:
                raise CommandError(
                    f"{error.filename}: cannot be written ({error.strerror})."
                ) from None
            self.stdout.write(f"{path}: {path.stat().st_size:,} bytes.")
