from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser, no_translations

from ratings import ledger
from ratings.ledger import Position
from ratings.management.arguments import chosen_games
from ratings.management.progress import ProgressBar, matches_done
from ratings.models import Game
from ratings.recording import fold_waiting


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
            with ProgressBar(f"Rating {game.slug} again", self.stderr) as bar:
                folded = fold_waiting(game, on_match=matches_done(bar, matches_behind(game)))
            self.stdout.write(f"{game.slug}: {folded:,} waiting reports put into history.")


def matches_behind(game: Game) -> int:
    """How many matches are rated when all that waits goes to its place."""
    waiting = ledger.read_waiting(game)
    if not waiting:
        return 0
    first = min(match.played_at for match in waiting)
    return len(waiting) + ledger.count_history(game, Position(first))
