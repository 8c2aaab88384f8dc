"""Random deeds, done to the site and told to the model, which then have to agree."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

from django.db import transaction

from ratings import history, ledger, recording, roster, standings
from ratings.decay import apply_decay, relist_game
from ratings.history import Correct, CorrectTeam, HistoryMoved, rerating
from ratings.ledger import SKILL_COLUMNS, segments, staging
from ratings.models import (
    Game,
    GameState,
    Match,
    Participation,
    Player,
    PlayerAlias,
    PointsCount,
    Rating,
    Source,
    System,
    User,
)
from ratings.players import create_bot
from ratings.recording import Answer, Intake, Overtaken, Receipt, fold_waiting, record_matches
from ratings.reports import Report, ReportedTeam, ReportError
from ratings.standings import Board, Kind
from tests.ratings.connections import elsewhere, held
from tests.simulator.model import Derived, Model, ModelGame, ModelMatch, ModelPlayer, corrected

START = datetime(2026, 7, 6, 20, 0, tzinfo=UTC)
MONDAY = datetime(2026, 7, 6, tzinfo=UTC)
SHAPES = {
    "brisca": [(1, 1), (1, 1, 1), (1, 1, 1, 1), (2, 2)],
    "tute": [(1, 1), (1, 1, 1), (1, 1, 1, 1), (2, 2)],
    "cinquillo": [(1,) * count for count in range(2, 9)],
}
CRASH_AT = [
    "stage",
    "lock_games",
    "insert_matches",
    "edit_matches",
    "update_matches",
    "write_ratings",
    "recount",
    "announce",
]


class Crash(Exception):
    pass


@dataclass
class Deed:
    """`do` does something to the site; `tell` tells the model what came of it."""

    name: str
    do: Callable[[], Any]
    tell: Callable[[Any], None]


@contextmanager
def small_limits(most_rerated: int) -> Iterator[None]:
    """Everything that depends on a size happens at small ones; nobody waits long for a lock."""
    with (
        patch.object(recording, "MOST_RERATED", most_rerated),
        patch.object(rerating, "MOST_RERATED", most_rerated),
        patch.object(staging, "BLOCK", most_rerated),
        patch.object(staging, "BLOCKS_IN_MEMORY", 2),
        patch.object(staging, "ROWS_AT_A_TIME", 6),
        patch.object(recording, "LOCK_SECONDS", 0.02),
        patch.object(segments, "LONGEST_WALK", 8),
        patch.object(segments, "SEGMENT", 4),
        patch.object(standings, "LONGEST_WALK", 8),
    ):
        yield


class World:
    """A card room of three games on an empty database. The same seed does the same deeds."""

    def __init__(self, seed: str) -> None:
        self.choice = random.Random(seed)
        # Of its own, so that the deeds are the same however often they are checked.
        self.page_choice = random.Random(seed)
        self.now = START
        self.deeds: Counter[str] = Counter()
        self.lately: deque[str] = deque(maxlen=12)
        self.sent: list[tuple[Source, Report]] = []
        self.receipts: Sequence[Any] = ()
        self.most_rerated = self.choice.choice([3, 3, 10, 40])
        Game.objects.update(idle_days=60)
        GameState.objects.update(decayed_to=MONDAY)
        self.model = Model(
            ModelGame(state.game.slug, set(SHAPES[state.game.slug]), MONDAY, 60, state.version)
            for state in GameState.objects.filter(game__slug__in=SHAPES).select_related("game")
        )
        self.games = {game.slug: game for game in Game.objects.filter(slug__in=SHAPES)}
        self.sources = [
            Source.objects.create(name=name, may_create_players=True) for name in ("mesa", "sala")
        ]
        self.users = [User.objects.create(username=name) for name in ("as-de-oros", "sota-7")]
        for number in range(5):
            handle = f"bot-{number}"
            author = self.users[0] if number < 2 else None
            bot = create_bot(handle=handle, name=handle, author=author, source=self.sources[0])
            self.model.players[bot.pk] = ModelPlayer(
                bot.pk, is_bot=True, owner=author and author.pk
            )
            self.model.aliases["mesa", handle] = bot.pk

    # Steps

    def step(self) -> None:
        """One deed, now and then with a crash in the middle of it."""
        self.now += timedelta(seconds=self.choice.choice([5, 60, 600, 7200, 40_000]))
        with small_limits(self.most_rerated):
            deed = self._choose()
            if self.choice.random() < 0.1:
                self._crash(deed)
            else:
                self._do(deed)

    def _do(self, deed: Deed) -> None:
        self.deeds[deed.name] += 1
        self.lately.append(deed.name)
        result = deed.do()
        # Those of a deed that was done meanwhile are of the past by now.
        self.receipts = ()
        deed.tell(result)

    def _crash(self, deed: Deed) -> None:
        """Lets a function that the deed may call fail; then the deed must not have happened."""
        name = self.choice.choice(CRASH_AT)
        calls = self.choice.choice([1, 1, 2])
        with patch.object(ledger, name, crashing(getattr(ledger, name), calls)):
            try:
                self._do(deed)
            except Crash:
                self.lately.append(f"crash at {name}")
                self.deeds["crash"] += 1
                self.check()
                return
        # It came through without that function.

    def _choose(self) -> Deed:
        kinds = {
            self._report: 40,
            self._marathon: 3,
            self._newcomers: 1,
            self._import: 5,
            self._resend: 6,
            self._fold: 8,
            self._void: 8,
            self._restore: 6,
            self._correct: 10,
            self._void_from_snapshot: 3,
            self._decay: 4,
            self._relist: 2,
            self._rerate: 1,
            self._status: 5,
            self._owner: 2,
            self._kind: 1,
        }
        [kind] = self.choice.choices([*kinds], kinds.values())
        return kind()

    # Reports

    def _player(self, source: Source) -> str:
        number = self.choice.randrange(9)
        if source.name == "mesa" and self.choice.random() < 0.3:
            return f"bot-{self.choice.randrange(5)}"
        return f"P{number}" if self.choice.random() < 0.1 else f"p{number}"

    def _players(self, source: Source, count: int) -> list[str]:
        players: list[str] = []
        while len(players) < count:
            player = self._player(source)
            is_new = player.casefold() not in map(str.casefold, players)
            if is_new or self.choice.random() < 0.02:
                players.append(player)
        return players

    def _time(self, slug: str) -> datetime | None:
        ago = self.choice.random()
        if ago < 0.15:
            return None
        if ago < 0.45:
            return self.now - timedelta(seconds=self.choice.randrange(600))
        if ago < 0.6:
            return self.now - timedelta(minutes=self.choice.randrange(360))
        if ago < 0.75:
            return self.now - timedelta(hours=self.choice.randrange(72))
        if ago < 0.83:
            return self.now - timedelta(days=40 * self.choice.random())
        if ago < 0.93:
            times = [match.played_at for match in self.model.games[slug].matches.values()]
            a_moment = timedelta(microseconds=self.choice.choice([-1, 0, 0, 1]))
            return self.choice.choice([*times, self.now - timedelta(days=1)]) + a_moment
        if ago < 0.98:
            return self.now + timedelta(seconds=self.choice.randrange(121))
        return self.now + timedelta(minutes=3)

    def _a_report(self, source: Source) -> Report:
        slug = self.choice.choice([*SHAPES])
        shape = self.choice.choice(SHAPES[slug])
        if self.choice.random() < 0.02:
            shape = (2, 1)
        players = iter(self._players(source, sum(shape)))
        return Report(
            "mus" if self.choice.random() < 0.01 else slug,
            f"x-{len(self.sent)}-{self.choice.randrange(10**9)}",
            tuple(self._team([next(players) for _ in range(size)]) for size in shape),
            self._time(slug),
            self.choice.choice(["normal"] * 12 + ["abandoned", "cancelled", "friendly"]),
        )

    def _team(self, players: Sequence[str]) -> ReportedTeam:
        points = self.choice.choice([None, None, Decimal("7.50"), Decimal("61.00")])
        return ReportedTeam(tuple(players), self.choice.choice([1, 1, 2, 2, 3, 4]), points)

    def _report(self) -> Deed:
        source = self.choice.choice(self.sources)
        size = self.choice.choice([1, 1, 1, 1, 2, 6])
        return self._record(source, [self._a_report(source) for _ in range(size)])

    def _marathon(self) -> Deed:
        """Two who play one match after the other, and so reach the limit of a day."""
        slug = self.choice.choice([*SHAPES])
        one, other = self.choice.choice([("p0", "p1"), ("p0", "p2"), ("bot-2", "p1")])
        reports = [
            Report(
                slug,
                f"m-{len(self.sent)}-{number}-{self.choice.randrange(10**9)}",
                (self._team([one]), self._team([other])),
                self.now - timedelta(minutes=self.choice.randrange(900)),
            )
            for number in range(self.choice.randrange(8, 24))
        ]
        return self._record(self.sources[0], reports)

    def _newcomers(self) -> Deed:
        """Draws among newcomers, who then share one number: a tie that has segments."""
        slug = self.choice.choice([*SHAPES])
        first = len(self.model.players)
        reports = [
            Report(
                slug,
                f"n-{len(self.sent)}-{number}",
                (ReportedTeam((f"n{number}",), 1), ReportedTeam((f"n{number}b",), 1)),
                self.now,
            )
            for number in range(first, first + 6)
        ]
        return self._record(self.sources[1], reports)

    def _import(self) -> Deed:
        """Reports in several batches, old ones among them, rated from a snapshot."""
        source = self.choice.choice(self.sources)
        reports = [self._a_report(source) for _ in range(self.choice.choice([2, 9, 25]))]
        reports += [report for by, report in self.sent[-3:] if by == source]
        self.choice.shuffle(reports)
        meanwhile = self._meanwhile(self._game())
        now = self.now

        def import_once() -> list[Receipt]:
            with ledger.stage() as staged:
                intake = Intake(source, staged, may_create_players=True, at=now)
                receipts = intake.take(reports[:7]) + intake.take(reports[7:])
                intake.store()
            return receipts

        def do() -> Any:
            def again() -> list[Receipt]:
                try:
                    return import_once()
                except Overtaken:
                    return import_once()

            return self._with(meanwhile, again)

        def tell(receipts: Any) -> None:
            receipts = [
                replace(it, answer=Answer.RECORDED) if it.answer == Answer.WAITING else it
                for it in receipts
            ]
            self._tell_of_reports(
                source, reports, receipts, now, None, True, False, False, folds=False
            )
            self.receipts = ()  # an import does not say what each match changed

        return Deed("import", do, tell)

    def _resend(self) -> Deed:
        """A report once more: as it was, otherwise listed, or with something else in it."""
        if not self.sent:
            return self._report()
        source, report = self.choice.choice(self.sent)
        teams, at, ending = list(report.teams), report.played_at, report.termination
        what = self.choice.choice(["same", "order", "time", "place", "ending", "player"])
        if what == "order":
            teams = [
                ReportedTeam(team.players[::-1], team.place, team.points) for team in teams[::-1]
            ]
        elif what == "time":
            at = (at or self.now) - timedelta(seconds=1)
        elif what == "place":
            teams[0] = ReportedTeam(teams[0].players, teams[0].place + 1, teams[0].points)
        elif what == "ending":
            ending = "friendly" if ending == "normal" else "normal"
        elif what == "player":
            player = self._player(source)
            teams[0] = ReportedTeam((player, *teams[0].players[1:]), teams[0].place)
        again = Report(report.game, report.external_id, tuple(teams), at, ending)
        reports = [again, *([report] if self.choice.random() < 0.3 else [])]
        return self._record(source, reports)

    def _record(self, source: Source, reports: list[Report], *, is_busy: bool = False) -> Deed:
        now = self.now
        max_age = timedelta(days=30) if self.choice.random() < 0.3 else None
        may_create = self.choice.random() > 0.05
        may_wait = is_busy or self.choice.random() < 0.8
        if self.choice.random() < 0.05:
            reports = [*reports, self.choice.choice(reports)]
        slugs = {report.game for report in reports} & set(SHAPES)
        is_busy = is_busy or (may_wait and bool(slugs) and self.choice.random() < 0.2)
        blocked = [self.choice.choice(sorted(slugs))] if is_busy else []

        def do() -> Any:
            with held(*blocked):
                return record_matches(
                    reports,
                    source=source,
                    at=now,
                    max_age=max_age,
                    may_create_players=may_create,
                    may_wait=may_wait,
                )

        def tell(receipts: Any) -> None:
            self._tell_of_reports(
                source, reports, receipts, now, max_age, may_create, may_wait, is_busy
            )

        return Deed("report that waits" if is_busy else "report", do, tell)

    def _tell_of_reports(
        self,
        source: Source,
        reports: list[Report],
        receipts: Any,
        now: datetime,
        max_age: timedelta | None,
        may_create: bool,
        may_wait: bool,
        is_busy: bool,
        folds: bool = True,
    ) -> None:
        model, name = self.model, source.name
        answers: dict[int, tuple[str, int | None]] = {}
        accepted: dict[str, int] = {}
        for number, report in enumerate(reports):
            if (name, report.external_id) in model.reports:
                said, match_id = model.reports[name, report.external_id]
                is_same = said == model.said(name, report)
                answers[number] = ("repeated" if is_same else "conflict"), match_id
            elif report.external_id in accepted:
                continue
            elif model.is_refused(name, report, now, max_age, may_create):
                answers[number] = "refused", None
            else:
                accepted[report.external_id] = number
        self._meet(source, [reports[number] for number in accepted.values()])
        for slug in {reports[number].game for number in accepted.values()}:
            game = model.games[slug]
            numbers = [number for number in accepted.values() if reports[number].game == slug]
            new = [
                self._new_match(source, reports[number], receipts[number].match_id, now)
                for number in numbers
            ]
            late = {
                match.id: is_busy
                or (may_wait and game.after(match.played_at, id) > self.most_rerated)
                for match, id in [
                    *((match, float("inf")) for match in new),
                    *((match, match.id) for match in game.waiting() if folds and not is_busy),
                ]
            }
            game.matches |= {match.id: match for match in new}
            for match_id, waits in late.items():
                game.matches[match_id].waits = waits
            game.version += not all(late.values())
            for number, match in zip(numbers, new, strict=True):
                answers[number] = ("waiting" if match.waits else "recorded"), match.id
        for number, report in enumerate(reports):
            key = name, report.external_id
            if number in accepted.values():
                model.reports[key] = model.said(name, report), answers[number][1]
                self.sent.append((source, report))
        for number, report in enumerate(reports):
            if number not in answers:
                said, match_id = model.reports[name, report.external_id]
                is_same = said == model.said(name, report)
                answers[number] = ("repeated" if is_same else "conflict"), match_id
        expected = [answers[number] for number in range(len(reports))]
        same("receipts", [(it.answer.value, it.match_id) for it in receipts], expected)
        self.receipts = receipts

    def _meet(self, source: Source, reports: Sequence[Report]) -> None:
        """Learns the ids of players whom the site had to make."""
        names = {player.casefold() for report in reports for player in report.players}
        unknown = {name for name in names if (source.name, name) not in self.model.aliases}
        found = PlayerAlias.objects.filter(source=source, key__in=unknown).order_by("player_id")
        for key, number in found.values_list("key", "player_id"):
            self.model.aliases[source.name, key] = number
            self.model.players[number] = ModelPlayer(number)
        same("players made", found.count(), len(unknown))

    def _new_match(
        self, source: Source, report: Report, match_id: int, now: datetime
    ) -> ModelMatch:
        players = [
            [self.model.aliases[source.name, player.casefold()] for player in team.players]
            for team in report.teams
        ]
        return ModelMatch(
            match_id,
            report.game,
            now if report.played_at is None else min(report.played_at, now),
            report.termination,
            players,
            [team.place for team in report.teams],
            [None if team.points is None else str(team.points) for team in report.teams],
            {player: self.model.players[player].owner for team in players for player in team},
        )

    # Folding and re-rating

    def _fold(self) -> Deed:
        """Of a game where something waits, if there is one; sometimes sees to it that there is."""
        with_waiting = [game for game in self.model.games.values() if game.waiting()]
        game = self.choice.choice(with_waiting or [*self.model.games.values()])
        if self.choice.random() < 0.4:
            ages = [timedelta(seconds=9), timedelta(days=1), timedelta(days=9)]
            self._do(self._record(*self._duels(game, ages), is_busy=True))
        meanwhile = self._meanwhile(game)
        waiting = {match.id for match in game.waiting()}

        def tell(folded: int) -> None:
            left = set(
                Match.objects.filter(game__slug=game.slug, status="waiting").values_list(
                    "pk", flat=True
                )
            )
            placed = {match.id for match in game.waiting()} - left
            same("left waiting of those before", left & waiting, set())
            same("matches folded", folded, len(placed))
            for match_id in placed:
                game.matches[match_id].waits = False
            game.version += bool(placed)

        return Deed(
            "fold with something meanwhile" if meanwhile else "fold",
            lambda: self._with(meanwhile, lambda: fold_waiting(self.games[game.slug])),
            tell,
        )

    def _void_from_snapshot(self) -> Deed:
        """As `fold` does it, with matches to be voided; the site has no such call yet."""
        game = self._game()
        ids = self._ids(game, self.choice.choice([1, 4]), lambda match: not match.waits)
        meanwhile = self._meanwhile(game)

        def plan(state: GameState) -> history.Rewrite:
            return history.Rewrite(edited=history.void(ids).edits(state.game))

        def tell(_result: Any) -> None:
            stand = [match_id for match_id in ids if not game.matches[match_id].is_void]
            for match_id in stand:
                game.matches[match_id].is_void = True
            game.version += bool(stand)

        return Deed(
            "void from a snapshot",
            lambda: self._with(
                meanwhile,
                lambda: history.rerate_from_snapshot([game.slug], plan),
            ),
            tell,
        )

    def _meanwhile(self, game: ModelGame) -> Deed | None:
        """What another writer does between a snapshot of the game and its lock."""
        if self.choice.random() < 0.3:
            return None
        kinds = [self._report, self._void, self._restore, self._correct, self._decay]
        is_append = self.choice.random() < 0.5
        return self._append(game) if is_append else self.choice.choice(kinds)()

    def _append(self, game: ModelGame) -> Deed:
        """A match that has just been played."""
        return self._record(*self._duels(game, [timedelta(0)]))

    def _duels(self, game: ModelGame, ages: Sequence[timedelta]) -> tuple[Source, list[Report]]:
        """Matches of two, played so long ago."""
        source = self.choice.choice(self.sources)
        reports = []
        for age in ages:
            report = self._a_report(source)
            teams = tuple(self._team([player]) for player in report.players[:2])
            at = self.now - age
            reports.append(replace(report, game=game.slug, teams=teams, played_at=at))
        return source, reports

    def _with(self, meanwhile: Deed | None, job: Callable[[], Any]) -> Any:
        """Does the job, and the other deed on another connection before the job has its lock."""
        if meanwhile is None:
            return job()
        deeds = [meanwhile]
        real = ledger.lock_games

        def lock_games(*args: Any, **kwargs: Any) -> Any:
            if deeds:
                deed = deeds.pop()
                elsewhere(lambda: self._do(deed))
            return real(*args, **kwargs)

        with patch.object(ledger, "lock_games", lock_games):
            return job()

    def _rerate(self) -> Deed:
        game = self._game()
        meanwhile = self._meanwhile(game)

        def do() -> None:
            self._with(meanwhile, lambda: history.rerate_whole_game(game.slug))

        def tell(_result: None) -> None:
            game.version += 1

        return Deed("rerate the whole game", do, tell)

    # Corrections

    def _game(self) -> ModelGame:
        return self.choice.choice([*self.model.games.values()])

    def _ids(self, game: ModelGame, count: int, fits: Callable[[ModelMatch], bool]) -> list[int]:
        ids = [match.id for match in game.matches.values() if fits(match)]
        return self.choice.sample(ids, min(count, len(ids)))

    def _some(self, fits: Callable[[ModelMatch], bool]) -> list[int]:
        """Ids of matches of one game or of several, most of which fit."""
        count = self.choice.choice([1, 1, 2, 5])
        games = self.choice.sample([*self.model.games.values()], self.choice.choice([1, 1, 2]))
        unfit = self.choice.random() < 0.1
        return [id for game in games for id in self._ids(game, count, lambda m: unfit or fits(m))]

    def _void(self) -> Deed:
        ids = self._some(lambda match: not (match.waits or match.is_void))
        return self._change("void", history.void(ids), lambda match: _voided(match, True))

    def _restore(self) -> Deed:
        ids = self._some(lambda match: match.is_void)
        return self._change("restore", history.restore(ids), lambda match: _voided(match, False))

    def _correct(self) -> Deed:
        ids = self._some(lambda match: not match.waits)[:1]
        if not ids:
            return self._report()
        old = self.model.match(ids[0])
        facts: dict[str, Any] = {}
        right: dict[str, Any] = {}
        if self.choice.random() < 0.4:
            at = self._time(old.game)
            if at is not None:
                facts["played_at"] = right["played_at"] = at
        if self.choice.random() < 0.3:
            ending = self.choice.choice(["normal", "abandoned", "cancelled", "friendly"])
            facts["termination"] = right["termination"] = ending
        if self.choice.random() < 0.7:
            teams, places, points = old.teams, old.places, old.points
            if self.choice.random() < 0.6:
                shape = self.choice.choice(SHAPES[old.game])
                known = self.choice.sample([*self.model.players], sum(shape))
                teams = [[known.pop() for _ in range(size)] for size in shape]
                points = [self.choice.choice([None, "3.00"]) for _ in teams]
            places = [self.choice.choice([1, 2, 3]) for _ in teams]
            facts |= {"teams": teams, "places": places, "points": points}
            right["teams"] = [
                CorrectTeam(team, place, None if score is None else Decimal(score))
                for team, place, score in zip(teams, places, points, strict=True)
            ]
        proposal = history.correct(old.id, Correct(**right))
        return self._change(
            "correct", proposal, lambda match: corrected(match, self.model.players, **facts)
        )

    def _change(
        self,
        name: str,
        proposal: history.Proposal,
        change: Callable[[ModelMatch], ModelMatch],
    ) -> Deed:
        """Carries a proposal out; sometimes from a preview, of today or of yesterday."""
        now = self.now
        is_previewed = self.choice.random() < 0.3
        is_stale = is_previewed and self.choice.random() < 0.2
        previews: list[history.Preview] = []

        def do() -> Any:
            try:
                expected = None
                if is_previewed:
                    previews.extend(history.preview(proposal, at=now))
                    expected = {it.game.slug: it.version - is_stale for it in previews}
                return history.carry_out(
                    proposal, by=None, reason="mistake", expected=expected, at=now
                )
            except (ReportError, HistoryMoved) as error:
                return error

        def tell(result: Any) -> None:
            matches = [self.model.match(match_id) for match_id in proposal.match_ids]
            changes = {match.id: change(match) for match in matches}
            is_refused = any(match.waits for match in matches) or any(
                new.played_at > now for new in changes.values()
            )
            if is_refused:
                same("refused", type(result), ReportError)
                return
            if is_stale and matches:
                same("refused as moved", type(result), HistoryMoved)
                return
            done = Counter()
            for match in matches:
                new = changes[match.id]
                if (new.is_void, new.facts) != (match.is_void, match.facts):
                    done[match.game] += 1
            before = {slug: self.model.derive(slug) for slug in done} if is_previewed else {}
            for match in matches:
                new = changes[match.id]
                if (new.is_void, new.facts) != (match.is_void, match.facts):
                    self.model.games[match.game].matches[match.id] = new
            for slug in done:
                self.model.games[slug].version += 1
            same("corrections", {it.game.slug: it.matches.count() for it in result}, dict(done))
            for shown in previews:
                if shown.game.slug in before:
                    self._check_preview(shown, before[shown.game.slug])

        return Deed(name, do, tell)

    def _check_preview(self, shown: history.Preview, before: Derived) -> None:
        after = self.model.derive(shown.game.slug)
        moved = {
            player: (old and old[0], new and new[0])
            for player in before.ratings.keys() | after.ratings.keys()
            if (old := before.ratings.get(player)) != (new := after.ratings.get(player))
        }
        same("players previewed", shown.players, len(moved))
        for mover in shown.movers:
            same("mover", (mover.elo_before, mover.elo_after), moved[mover.player_id])
        for system in System.values:
            tops = [[number for _, number, _ in it.boards[system][:10]] for it in (before, after)]
            same(f"top of {system}", tuple(shown.top[system]), tuple(tops))

    # Time, players

    def _decay(self) -> Deed:
        game = self._game()
        at = self.now + timedelta(days=self.choice.choice([-20, -3, 0, 0, 0, 6, 10]))
        monday = at.replace(hour=0, minute=0, second=0, microsecond=0)
        monday -= timedelta(days=monday.weekday())

        def tell(_changed: int) -> None:
            game.version += monday > game.decayed_to
            game.decayed_to = max(monday, game.decayed_to)

        return Deed("decay", lambda: apply_decay(at, games=[self.games[game.slug]]), tell)

    def _relist(self) -> Deed:
        game = self._game()
        idle_days = self.choice.choice([None, 2, 10, 60])

        def do() -> None:
            with transaction.atomic():
                Game.objects.filter(slug=game.slug).update(idle_days=idle_days)
                relist_game(self.games[game.slug])

        def tell(_result: None) -> None:
            game.idle_days = idle_days
            game.version += 1

        return Deed("idle days", do, tell)

    def _status(self) -> Deed:
        changes = [
            (roster.retire_player, "retired"),
            (roster.freeze_player, "frozen"),
            (roster.hide_player, "hidden"),
            (roster.reactivate_player, "active"),
            (roster.reactivate_player, "active"),
        ]
        change, status = self.choice.choice(changes)
        if self.choice.random() < 0.05:
            change, status = roster.anonymise_player, "anonymised"

        def tell(player: ModelPlayer) -> None:
            player.status = status
            if status == "anonymised":
                player.owner = None

        return self._of_a_player(status, lambda row: change(player=row), tell)

    def _owner(self) -> Deed:
        owner = self.choice.choice([None, *self.users])

        def tell(player: ModelPlayer) -> None:
            player.owner = owner and owner.pk

        return self._of_a_player(
            "owner", lambda row: roster.change_owner(player=row, owner=owner), tell
        )

    def _kind(self) -> Deed:
        is_bot = self.choice.random() < 0.5

        def tell(player: ModelPlayer) -> None:
            player.is_bot = is_bot

        return self._of_a_player(
            "kind", lambda row: roster.change_kind(player=row, is_bot=is_bot), tell
        )

    def _of_a_player(
        self, name: str, change: Callable[[Player], None], tell: Callable[[ModelPlayer], None]
    ) -> Deed:
        known = [player for player in self.model.players.values() if player.status != "anonymised"]
        player = self.choice.choice(known)

        def told(_result: None) -> None:
            tell(player)
            # Which games show him is the roster's to say, and its tests'.
            for slug, version in versions().items():
                game = self.model.games.get(slug)
                if game is not None:
                    assert game.version <= version <= game.version + 1
                    game.version = version

        return Deed(name, lambda: change(Player.objects.get(pk=player.id)), told)

    # Comparing

    def check(self) -> None:
        """AssertionError where the site is not what the model says, or does not verify."""
        same("players", stored_players(), {p.id: facts_of(p) for p in self.model.players.values()})
        same("reports", Match.objects.count(), len(self.model.reports))
        for slug, version in versions().items():
            if slug in self.model.games:
                same(f"version of {slug}", version, self.model.games[slug].version)
        for slug, game in self.games.items():
            derived = self.model.derive(slug)
            self._check_matches(slug, derived)
            same(f"ratings of {slug}", stored_ratings(game), derived.ratings)
            rows = PointsCount.objects.filter(game=game)
            counts = {(row.system, row.is_bot, row.shown): row.count for row in rows}
            same(f"counts of {slug}", counts, dict(derived.counts))
            self._check_boards(game, derived)
            same(f"verify {slug}", history.verify(game).differences, [])

    def _check_matches(self, slug: str, derived: Derived) -> None:
        facts = {
            match.id: (
                match.played_at,
                match.termination,
                match.players,
                match.sides,
                match.owners,
                *derived.matches[match.id],
            )
            for match in self.model.games[slug].matches.values()
        }
        same(f"matches of {slug}", stored_matches(self.games[slug]), facts)
        for receipt in self.receipts:
            if receipt.answer == Answer.RECORDED and receipt.match_id in derived.matches:
                _status, reason, numbers = derived.matches[receipt.match_id]
                changes = {it.player: (*it.before, *it.after) for it in receipt.changes}
                expected = {} if reason else numbers
                same("changes of a receipt", (receipt.reason, changes), (reason, expected))

    def _check_boards(self, game: Game, derived: Derived) -> None:
        for system in System.values:
            for kind in Kind:
                rows = [
                    (shown, number)
                    for shown, number, is_bot in derived.boards[system]
                    if kind == Kind.EVERYONE or is_bot == (kind == Kind.BOTS)
                ]
                ranked = [
                    (1 + sum(other > shown for other, _ in rows), shown, number)
                    for shown, number in rows
                ]
                board = Board(game, system, kind, page_size=5)
                page = board.page(self.page_choice.randrange(1 + len(rows) // 5) + 1)
                first = (page.number - 1) * 5
                shown = [(row.rank, row.shown, row.rating.player_id) for row in page.rows]
                where = f"page {page.number} of {game.slug} {system} {kind}"
                same(where, (page.listed, shown), (len(rows), ranked[first : first + 5]))


def crashing(real: Callable[..., Any], calls: int) -> Callable[..., Any]:
    """The function, which fails at its so many-th call."""
    left = [calls]

    def crash(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Crash
        return real(*args, **kwargs)

    return crash


def same(what: str, found: Any, expected: Any) -> None:
    if found == expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = [
            key
            for key in found.keys() | expected.keys()
            if key not in found or key not in expected or found[key] != expected[key]
        ]
        what = f"{what}, {len(keys)} differ, such as {keys[0]}"
        found, expected = found.get(keys[0]), expected.get(keys[0])
    raise AssertionError(f"{what}:\n  the site  {found}\n  the model {expected}")


def _voided(match: ModelMatch, is_void: bool) -> ModelMatch:
    new = ModelMatch(**vars(match))
    new.is_void = is_void
    return new


def versions() -> dict[str, int]:
    return dict(GameState.objects.values_list("game__slug", "version"))


def facts_of(player: ModelPlayer) -> tuple[Any, ...]:
    return player.is_bot, player.status, player.owner


def stored_players() -> dict[int, tuple[Any, ...]]:
    rows = Player.objects.values_list("pk", "is_bot", "status", "owner")
    return {number: tuple(facts) for number, *facts in rows}


def stored_ratings(game: Game) -> dict[int, tuple[Any, ...]]:
    rows = Rating.objects.filter(game=game).values_list(
        "player", "elo", "mu", "sigma_settled", "sigma", "elo_shown", "openskill_shown",
        "won", "drawn", "lost", "peak_elo", "peak_at", "last_played_at", "is_bot", "is_listed",
    )  # fmt: skip
    return {number: tuple(columns) for number, *columns in rows}


def stored_matches(game: Game) -> dict[int, tuple[Any, ...]]:
    """In the shape that `World._check_matches` gives the model's."""
    teams: dict[int, dict[int, tuple[int, str | None, set[int]]]] = {}
    owners: dict[int, dict[int, int | None]] = {}
    numbers: dict[int, dict[int, tuple[float, ...]]] = {}
    parts = Participation.objects.filter(match__game=game).values_list(
        "match", "player", "team", "place", "points", "owner", *SKILL_COLUMNS
    )
    for match_id, player, team, place, points, owner, *skills in parts:
        score = None if points is None else str(points)
        side = teams.setdefault(match_id, {}).setdefault(team, (place, score, set()))
        same(f"team {team} of match {match_id}", (place, score), side[:2])
        side[2].add(player)
        owners.setdefault(match_id, {})[player] = owner
        numbers.setdefault(match_id, {})[player] = tuple(skills)
    return {
        match.pk: (
            match.played_at,
            match.termination,
            match.players,
            {(place, score, frozenset(it)) for place, score, it in teams[match.pk].values()},
            owners[match.pk],
            match.status,
            match.reason,
            numbers[match.pk],
        )
        for match in Match.objects.filter(game=game)
    }
