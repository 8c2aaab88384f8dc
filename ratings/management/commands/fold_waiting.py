from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser, no_translations

from ratings import jobs
from ratings.jobs import matches_done
from ratings.management.arguments import chosen_games
from ratings.management.progress import ProgressBar, both
from ratings.models import JobKind
from ratings.recording import count_to_rate, fold_waiting


class Command(BaseCommand):
    help = (
        "Puts the reports that wait into the histories of their games. The task that runs every "
        "few seconds does the same."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("games", nargs="*", metavar="GAME", help="only these games")

    @no_translations
    def handle(self, *, games: list[str], **options: Any) -> None:
        for game in chosen_games(games):
            with (
                ProgressBar(f"Rating {game.slug} again", self.stderr) as bar,
                jobs.watched(jobs.job(JobKind.FOLDING, game.slug)) as watch,
            ):
                count = matches_done(both(bar, watch), count_to_rate(game))
                folded = fold_waiting(game, on_match=count)
            self.stdout.write(f"{game.slug}: {folded:,} waiting reports put into history.")
