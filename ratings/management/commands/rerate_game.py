from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser, no_translations

from ratings import jobs, ledger
from ratings.history import rerate_whole_game, verify
from ratings.jobs import matches_done
from ratings.management.arguments import chosen_games
from ratings.management.progress import ProgressBar, both
from ratings.models import Game, JobKind


class Command(BaseCommand):
    help = (
        "Rates a whole game again from nothing, without holding reports up meanwhile. It mends "
        "what verify_ratings finds, and makes the numbers those of this machine."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("game", metavar="GAME")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be mended and change nothing"
        )

    @no_translations
    def handle(self, *, game: str, dry_run: bool, **options: Any) -> None:
        [chosen] = chosen_games([game])
        with (
            ProgressBar(f"Rating {chosen.slug} again", self.stderr) as bar,
            jobs.watched(jobs.job(JobKind.RERATING, chosen.slug)) as watch,
        ):
            count = matches_done(both(bar, watch), ledger.count_history(chosen))
            lines = (look if dry_run else rerate)(chosen, count)
            watch.job.result = lines[0]
        for line in lines:
            self.stdout.write(line)


def rerate(game: Game, on_match: Any) -> list[str]:
    matches = rerate_whole_game(game.slug, on_match=on_match)
    return [f"{game.slug}: {matches:,} matches rated again."]


def look(game: Game, on_match: Any) -> list[str]:
    found = verify(game, on_match=on_match)
    lines = [
        f"{game.slug}: {found.matches:,} matches would be rated again, and {found.count:,} stored "
        "numbers would change.",
        *(f"  {difference}" for difference in found.differences),
    ]
    if found.count > len(found.differences):
        lines.append(f"  and {found.count - len(found.differences):,} more")
    if not found.exact:
        lines.append(
            "Another machine's mathematics library computed the stored numbers; those that agree "
            "to 1e-9 would change in their last bits."
        )
    return [*lines, "A dry run: nothing was changed."]
