from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings.history import Verification, verify
from ratings.models import Game


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
        for game in chosen_games(slugs):
            self.stderr.write(f"Replaying {game.slug} ...", style_func=str)
            found = verify(game)
            count += found.count
            self.stdout.write(f"{game.slug}: {summary(found)}")
            for difference in found.differences:
                self.stdout.write(f"  {difference}")
            if found.count > len(found.differences):
                self.stdout.write(f"  and {found.count - len(found.differences):,} more")
        if count:
            raise CommandError(f"{count:,} stored numbers differ from the replay of the history.")


def chosen_games(slugs: list[str] | None) -> list[Game]:
    games = list(Game.objects.all())
    if slugs is None:
        return games
    known = [game.slug for game in games]
    for slug in slugs:
        if slug not in known:
            raise CommandError(f'Unknown game "{slug}": one of {", ".join(known)} is needed.')
    return [game for game in games if game.slug in slugs]


def summary(found: Verification) -> str:
    replayed = f"{found.matches:,} matches and {found.players:,} players replayed, "
    if found.count:
        return f"{replayed}{found.count:,} differences:"
    if found.exact:
        return f"{replayed}every bit agrees."
    return (
        f"{replayed}all agrees to 1e-9. Another machine's mathematics library computed the "
        "stored numbers; re-rate the game to have them to the last bit."
    )
