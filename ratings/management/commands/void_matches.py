from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratings import history, jobs
from ratings.history import HistoryMoved, Preview, Proposal
from ratings.jobs import matches_done
from ratings.management.arguments import chosen_games, parse_moment
from ratings.management.progress import ProgressBar, both
from ratings.models import CorrectionReason, Game, JobKind, Player, Source, System, User
from ratings.players import find_by_handle
from ratings.recording import find_waiting_games, fold_waiting
from ratings.reports import ReportError


class Command(BaseCommand):
    help = (
        "Takes matches out of the ratings, or puts them back, after showing what that changes. "
        "The matches are named by their numbers, or by what they have in common."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "matches", nargs="*", type=match_number, metavar="MATCH", help="its number"
        )
        parser.add_argument("--source", metavar="NAME", help="matches that this source reported")
        parser.add_argument(
            "--player",
            action="append",
            default=[],
            dest="players",
            metavar="HANDLE",
            help="matches with this player; given several times, with all of them together",
        )
        parser.add_argument("--game", metavar="SLUG", help="matches of this game alone")
        parser.add_argument("--since", metavar="ISO", help="matches that ended then or later")
        parser.add_argument("--until", metavar="ISO", help="matches that ended before")
        parser.add_argument("--restore", action="store_true", help="put void matches back")
        parser.add_argument(
            "--reason",
            choices=CorrectionReason.values,
            help="shown to everyone; needed unless this is a dry run",
        )
        parser.add_argument("--note", default="", help="kept for the staff")
        parser.add_argument("--by", metavar="USER", help="whose decision it is")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--dry-run", action="store_true", help="show it and change nothing")

    @no_translations
    def handle(self, **options: Any) -> None:
        by = find_user(options["by"])
        if options["reason"] is None and not options["dry_run"]:
            raise CommandError(
                f"--reason is missing: one of {', '.join(CorrectionReason.values)} is needed."
            )
        propose = history.restore if options["restore"] else history.void
        proposal = propose(self.chosen_matches(options))
        if not proposal.match_ids:
            self.stdout.write("No such matches: nothing to change.")
            return
        try:
            self.carry_out(proposal, by, options)
        except ReportError as error:
            raise CommandError(str(error)) from None

    def chosen_matches(self, options: Mapping[str, Any]) -> list[int]:
        """The numbers of the matches that were named one way or the other."""
        common = {name: options[name] for name in ("source", "players", "game", "since", "until")}
        if options["matches"]:
            if any(common.values()):
                raise CommandError("Name matches by their numbers or by what they share, not both.")
            return list(options["matches"])
        games = chosen_games([common["game"]] if common["game"] else [])
        find_source(common["source"])
        common["players"] = [find_handle(handle) for handle in common["players"]]
        for name in ("since", "until"):
            common[name] = common[name] and parse_moment(f"--{name}", common[name])
        if not options["dry_run"]:
            self.fold(games)
        try:
            return history.find_matches(**common, are_void=options["restore"])
        except ValueError as error:
            raise CommandError(str(error)) from None

    def fold(self, games: Sequence[Game]) -> None:
        """What waits is not in history yet, and could be neither seen nor made void there."""
        for game in find_waiting_games():
            if game in games:
                folded = fold_waiting(game)
                self.stdout.write(f"{game.slug}: {folded:,} waiting reports put into history.")

    def carry_out(self, proposal: Proposal, by: User | None, options: Mapping[str, Any]) -> None:
        behind = history.count_behind(proposal)
        with ProgressBar("Looking", self.stderr) as bar:
            previews: Sequence[Preview] = history.preview(
                proposal, on_match=matches_done(bar, behind)
            )
        while True:
            for line in preview_lines(previews):
                self.stdout.write(line)
            if options["dry_run"]:
                self.stdout.write("A dry run: nothing was changed.")
                return
            if not any(each.matches for each in previews):
                return
            if not options["yes"]:
                self.ask(options)
            try:
                what = jobs.job(JobKind.CORRECTION, ", ".join(proposal.games), by=by)
                with (
                    ProgressBar("Rating again", self.stderr) as bar,
                    jobs.watched(what) as watch,
                ):
                    corrections = history.carry_out(
                        proposal,
                        by=by,
                        reason=options["reason"],
                        note=options["note"],
                        # Whoever does not look has seen no version that must still be there.
                        expected=None
                        if options["yes"]
                        else {each.game.slug: each.version for each in previews},
                        on_match=matches_done(both(bar, watch), behind),
                    )
                break
            except HistoryMoved as moved:
                self.stdout.write("History moved on meanwhile. As it is now:")
                previews = moved.previews
        for correction in corrections:
            self.stdout.write(
                f"{correction.game.slug}: done, {correction.rerated:,} matches rated again."
            )

    def ask(self, options: Mapping[str, Any]) -> None:
        what = "Restore" if options["restore"] else "Void"
        try:
            answer = input(f"{what} them? [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandError("Not confirmed: nothing was changed. --yes goes without asking.")


def match_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ArgumentTypeError(f'"{text}" is not the number of a match')
    return int(text)


def find_user(username: str | None) -> User | None:
    if username is None:
        return None
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(f'Unknown user "{username}": the name of an account is needed.')
    return user


def find_source(name: str | None) -> None:
    if name and not Source.objects.filter(name=name).exists():
        raise CommandError(f'Unknown source "{name}": the name of a source is needed.')


def find_handle(handle: str) -> str:
    """The handle as it is now, also of somebody who was called so once."""
    found = find_by_handle(handle)
    if found is None:
        raise CommandError(f'Unknown player "{handle}": a handle is needed.')
    return found.player.handle


def preview_lines(previews: Sequence[Preview]) -> Iterator[str]:
    for each in previews:
        yield (
            f"{each.game.slug}: {each.matches:,} matches change, {each.rerated:,} others are rated "
            f"again, {each.players:,} players move."
        )
        if not each.matches:
            continue
        ids = {mover.player_id for mover in each.movers}
        ids.update(player for tops in each.top.values() for top in tops for player in top)
        handles = dict(Player.objects.filter(pk__in=ids).values_list("pk", "handle"))
        for mover in each.movers:
            yield (
                f"  {handles[mover.player_id]}: Elo {number(mover.elo_before)} -> "
                f"{number(mover.elo_after)} ({signed(mover.change)})"
            )
        for system, (before, after) in each.top.items():
            label = System(system).label
            if list(before) == list(after):
                yield f"  First ten by {label}: the same."
                continue
            yield f"  First ten by {label} before: {', '.join(handles[pk] for pk in before)}"
            yield f"  First ten by {label} after: {', '.join(handles[pk] for pk in after)}"


def number(elo: float | None) -> str:
    return "none" if elo is None else f"{elo:.1f}"


def signed(change: float) -> str:
    """With its sign and one decimal; nothing is +0.0, from whichever side it is rounded."""
    return f"{round(change, 1) + 0.0:+.1f}"
