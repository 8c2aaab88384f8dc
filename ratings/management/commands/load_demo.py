from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings import demo
from ratings.management.progress import ProgressBar


class Command(BaseCommand):
    help = (
        "Loads a made-up season, for looking at the site. Does nothing where results are stored "
        "already, the demo's or others."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--reset", action="store_true", help="remove the demo that is there and load it anew"
        )

    @no_translations
    def handle(self, *, reset: bool, **options: Any) -> None:
        if demo.has_other_results():
            if reset:
                raise CommandError("Other sources have results here: the demo would stand in them.")
            self.stdout.write("Other sources have results here: the demo stays out.")
            return
        if demo.has_demo() and not reset:
            self.stdout.write("The demo is loaded already.")
            return
        load = demo.reload_demo if reset else demo.load_demo
        try:
            with ProgressBar("Loading the demo", self.stderr) as bar:
                count = load(progress=bar)
        except demo.OtherResults:
            raise CommandError("Another source reported a result meanwhile.") from None
        except ValidationError as error:
            raise CommandError(f"The demo's bots: {' '.join(error.messages)}") from None
        self.stdout.write(f"The demo is loaded: {count:,} matches.")
