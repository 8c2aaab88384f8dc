from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings.decay import apply_decay
from ratings.management.arguments import parse_moment
from ratings.systems.decay import current_monday


class Command(BaseCommand):
    help = (
        "Lets the uncertainty of absent players grow up to the last Monday 00:00 UTC. "
        "A second run changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--at", metavar="ISO", help="as of this moment, such as 2026-11-29T18:00:00Z (now)"
        )

    @no_translations
    def handle(self, *, at: str | None, **options: Any) -> None:
        moment = datetime.now(UTC) if at is None else parse_past_moment(at)
        changed = apply_decay(moment)
        self.stdout.write(
            f"{changed:,} ratings changed; all games are at "
            f"{current_monday(moment):%Y-%m-%d} 00:00 UTC or later."
        )


def parse_past_moment(text: str) -> datetime:
    moment = parse_moment("--at", text)
    if moment > datetime.now(UTC):
        raise CommandError(f'Unexpected --at "{text}": it is in the future, and decay only grows.')
    return moment
