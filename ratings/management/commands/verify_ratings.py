from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings import ledger
from ratings.history import run_verification
from ratings.jobs import matches_done
from ratings.management.arguments import chosen_games
from ratings.management.progress import ProgressBar
from ratings.models import VerifyRun


class Command(BaseCommand):
    help = (
        "Replays each game's history from empty and compares every stored number with what comes "
        "out. Exit code 1 where any differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--game", nargs="+", metavar="SLUG", dest="slugs", help="only these games"
        )

    @no_translations
    def handle(self, *, slugs: list[str] | None, **options: Any) -> None:
        count = 0
        for game in chosen_games(slugs or []):
            with ProgressBar(f"Replaying {game.slug}", self.stderr) as bar:
                run = run_verification(game, on_match=matches_done(bar, ledger.count_history(game)))
            count += run.difference_count
            self.stdout.write(f"{game.slug}: {summary(run)}")
            for difference in run.differences:
                self.stdout.write(f"  {difference}")
            if run.difference_count > len(run.differences):
                self.stdout.write(f"  and {run.difference_count - len(run.differences):,} more")
        if count:
            raise CommandError(f"{count:,} stored numbers differ from the replay of the history.")


def summary(run: VerifyRun) -> str:
    replayed = f"{run.matches:,} matches and {run.players:,} players replayed, "
    if run.difference_count:
        return f"{replayed}{run.difference_count:,} differences:"
    if run.is_exact:
        return f"{replayed}every bit agrees."
    return (
        f"{replayed}all agrees to 1e-9. Another machine's mathematics library computed the "
        "stored numbers; re-rate the game to have them to the last bit."
    )
