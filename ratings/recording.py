"""The one way in for a result, one or ten thousand at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import batched
from typing import Any

from django.db import DatabaseError, IntegrityError, OperationalError, transaction
from django.utils.translation import gettext as _
from psycopg.types.json import Jsonb

from ratings import history, ledger
from ratings.history import MOST_RERATED
from ratings.ledger import NewMatch, Position, Staged
from ratings.models import Game, GameState, Match, PlayerStatus, Source, Status
from ratings.names import fold
from ratings.players import KnownPlayer, create_players, find_players, reserve_player_ids
from ratings.reports import Report
from ratings.systems.replay import Change, Entry, Outcome, PlayedMatch

CLOCK_TOLERANCE = timedelta(minutes=2)
"""How far ahead of ours a source's clock may be; the time is then taken as now."""

API_MAX_AGE = timedelta(days=30)


LOCK_SECONDS = 2
"""So long a report waits for its game's lock, before it is put aside instead."""


class Answer(StrEnum):
    RECORDED = "recorded"
    WAITING = "waiting"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a report.

    RECORDED: stored and rated, with the changes it made (none where it is not rated). WAITING:
    stored for good, and to be put into history soon (`fold_waiting`). REPEATED:
    the same report was stored before, as match `match_id`, whose present state is in the ledger.
    CONFLICT: another report is stored under this id. REFUSED: nothing is stored. The last two
    carry `problems`, sentences in the reader's language.
    """

    answer: Answer
    match_id: int | None = None
    reason: str = ""
    changes: Sequence[Change] = ()
    problems: Sequence[str] = ()


def record_matches(
    reports: Sequence[Report],
    *,
    source: Source,
    at: datetime | None = None,
    max_age: timedelta | None = None,
    may_create_players: bool | None = None,
    may_wait: bool = False,
) -> list[Receipt]:
    """Stores and rates the reports that stand up; a receipt for each, in their order.

    One transaction: it locks every game named, in id order, until all is written. Among equal
    times the order of the reports is the order of history. `at` is now, once the locks are had:
    what has just been played comes last then, however long it waited. A report older than
    `max_age` is refused; `may_create_players` overrides what the source is allowed.

    With `may_wait` it never takes long: what cannot have the lock within LOCK_SECONDS, or would
    have more than MOST_RERATED matches rated again, is stored outside history and waits.
    """
    if may_create_players is None:
        may_create_players = source.may_create_players
    recorder = _Recorder(source, at, max_age, may_create_players, may_wait)
    try:
        return _try_again(lambda: recorder.record(reports))
    except OperationalError as error:
        if _sqlstate(error) != LOCK_NOT_AVAILABLE:
            raise
    return _try_again(lambda: recorder.put_aside(reports))


def find_waiting_games() -> list[Game]:
    """The games with reports that wait for their place in history."""
    waiting = Match.objects.filter(status=Status.WAITING)
    return list(Game.objects.filter(pk__in=waiting.values("game")))


def fold_waiting(game: Game, *, on_match: history.OnMatch | None = None) -> int:
    """Puts all of a game's waiting matches into its history, in one re-rating; how many.

    May run as often, and in as many places at once, as one likes. What waits in the middle of a
    long history is worked out without the lock.
    """
    reratings = history.rewrite_history(
        [game.slug], _waiting_in, most_rerated=MOST_RERATED, on_match=on_match
    )
    return sum(len(rerating.outcomes) for rerating in reratings.values())


def count_to_rate(game: Game) -> int:
    """How many matches are rated when all that waits goes to its place."""
    waiting = ledger.read_waiting(game)
    if not waiting:
        return 0
    first = min(map(_position, waiting))
    return len(waiting) + ledger.count_history(game, first)


def _waiting_in(state: GameState) -> history.Rewrite:
    return history.Rewrite(waiting=ledger.read_waiting(state.game))


LOCK_NOT_AVAILABLE = "55P03"
DEADLOCK_DETECTED = "40P01"
UNIQUE_VIOLATION = "23505"


TRIES = 5


def _try_again(record: Callable[[], list[Receipt]]) -> list[Receipt]:
    """What `record` returns, tried again where another writer was in the way.

    After a unique violation the other one has committed, and the next look sees what it did.
    After a deadlock it has not yet, and may still be met once more.
    """
    for _attempt in range(TRIES - 1):
        try:
            with transaction.atomic():
                return record()
        except (IntegrityError, OperationalError) as error:
            if not _is_worth_another_try(error):
                raise
    with transaction.atomic():
        return record()


def _sqlstate(error: DatabaseError) -> str:
    state: str | None = getattr(error.__cause__, "sqlstate", None)
    return state or ""


def _is_worth_another_try(error: DatabaseError) -> bool:
    """Whether a writer in another game came first with the same new id.

    The games' locks do not exclude that: one source may send one external_id for two games, or
    two sources may meet a new player at once.
    """
    return _sqlstate(error) in (DEADLOCK_DETECTED, UNIQUE_VIOLATION)


@dataclass(slots=True)
class _Recorder:
    """Takes one batch of reports through lock, look-up, checks, and the writing of history.

    A batch comes to the same as its reports one by one.
    """

    source: Source
    at: datetime | None
    max_age: timedelta | None
    may_create_players: bool
    may_wait: bool
    now: datetime = field(init=False)
    allowed: Collection[str] = field(init=False)
    """The slugs of the games that the source may report; empty for all of them."""
    games: str = ""
    """The slugs of all games, once somebody has to be told."""

    def record(self, reports: Sequence[Report]) -> list[Receipt]:
        """Puts the reports into history. OperationalError where a lock is not to be had in time."""
        self.allowed = ledger.read_allowed_games(self.source.pk)
        slugs = {report.game for report in reports}
        states = ledger.lock_games(slugs, seconds=LOCK_SECONDS if self.may_wait else None)
        return self._take(reports, states, self._write)

    def put_aside(self, reports: Sequence[Report]) -> list[Receipt]:
        """Stores the reports outside history, without a lock."""
        self.allowed = ledger.read_allowed_games(self.source.pk)
        states = ledger.read_states({report.game for report in reports})
        return self._take(reports, states, self._store_waiting)

    def _take(
        self,
        reports: Sequence[Report],
        states: Mapping[str, GameState],
        write: Callable[[GameState, Sequence[NewMatch]], Mapping[int, Outcome]],
    ) -> list[Receipt]:
        """The receipts of the reports; those that are new and sound are written, game by game."""
        # In this order: where another writer stores one of them in between, its new players are
        # known here and its id is taken; the other way round they would seem to differ.
        stored = self._find_stored({report.external_id for report in reports})
        known = self._find_players({p for report in reports for p in report.players})
        self.now = self.at or datetime.now(UTC)
        receipts: dict[int, Receipt] = {}
        accepted: dict[str, int] = {}
        doubles = []
        for number, report in enumerate(reports):
            # Before every other check: a report that was accepted once stays accepted.
            if report.external_id in stored:
                receipts[number] = _receipt_of_known(*stored[report.external_id], report, known)
            elif report.external_id in accepted:
                doubles.append(number)
            elif problems := self._problems(report, states, known):
                receipts[number] = Receipt(Answer.REFUSED, problems=problems)
            else:
                accepted[report.external_id] = number

        unknown = {
            key: player
            for number in accepted.values()
            for player in reports[number].players
            if (key := fold(player)) not in known
        }
        if unknown:
            known |= self._make_players(unknown)

        by_game: dict[str, list[int]] = {}
        for number in accepted.values():
            by_game.setdefault(reports[number].game, []).append(number)
        for slug, numbers in by_game.items():
            new = self._new_matches(reports, numbers, known)
            outcomes = write(states[slug], new)
            receipts |= {
                number: _receipt_of_new(stored.match.id, outcomes.get(stored.match.id))
                for number, stored in zip(numbers, new, strict=True)
            }
        # As if they had come a moment later.
        for number in doubles:
            report = reports[number]
            first = accepted[report.external_id]
            receipts[number] = _receipt_of_known(
                receipts[first].match_id, canonical_report(reports[first], known), report, known
            )
        return [receipts[number] for number in range(len(reports))]

    def _find_stored(self, external_ids: Collection[str]) -> dict[str, tuple[int, Any]]:
        """(match id, canonical report) of those stored before, by external id."""
        return ledger.read_reports(self.source.pk, external_ids)

    def _find_players(self, player_ids: Collection[str]) -> dict[str, KnownPlayer]:
        return find_players(self.source, player_ids)

    def _make_players(self, unknown: Mapping[str, str]) -> dict[str, KnownPlayer]:
        """New players for ids (by folded id) that are not known."""
        create_players(self.source, unknown)
        return find_players(self.source, unknown.values())

    def _problems(
        self,
        report: Report,
        states: Mapping[str, GameState],
        known: Mapping[str, KnownPlayer],
    ) -> list[str]:
        """Why the report cannot be accepted."""
        if report.game not in states:
            return [self._unknown_game(report.game)]
        if self.allowed and report.game not in self.allowed:
            return [
                # Translators: answers a game server: source is its name.
                _('Source "%(source)s" may not report the game "%(game)s".')
                % {"source": self.source.name, "game": report.game}
            ]
        return [
            *states[report.game].game.shape_problems([len(t.players) for t in report.teams]),
            *self._time_problems(report),
            *self._player_problems(report, known),
        ]

    def _unknown_game(self, slug: str) -> str:
        if not self.games:
            self.games = ", ".join(Game.objects.values_list("slug", flat=True))
        return _('Unknown game "%(game)s": one of %(games)s is needed.') % {
            "game": slug[:40],
            "games": self.games,
        }

    def _time_problems(self, report: Report) -> list[str]:
        if report.played_at is None:
            return []
        if report.played_at > self.now + CLOCK_TOLERANCE:
            return [
                _("Unexpected played_at %(played_at)s: it is in the future, now is %(now)s.")
                % {"played_at": _iso(report.played_at), "now": _iso(self.now)}
            ]
        if self.max_age is not None and report.played_at < self.now - self.max_age:
            return [
                _(
                    "Unexpected played_at %(played_at)s: it is more than %(days)d days ago. "
                    "Older results can be imported by staff."
                )
                % {"played_at": _iso(report.played_at), "days": self.max_age.days}
            ]
        return []

    def _player_problems(self, report: Report, known: Mapping[str, KnownPlayer]) -> list[str]:
        problems = []
        seen: set[int | str] = set()
        for player in report.players:
            key = fold(player)
            found = known.get(key)
            if found is None and not self.may_create_players:
                problems.append(_('Player "%(player)s" is not known.') % {"player": player})
            if found is not None and not found.may_play:
                problems.append(
                    _('Player "%(player)s" may not play: the account is closed or frozen.')
                    % {"player": player}
                )
            # Two ids of a source may be one person.
            who = key if found is None else found.id
            if who in seen:
                problems.append(
                    _('Player "%(player)s" is repeated: nobody plays twice in a match.')
                    % {"player": player}
                )
            seen.add(who)
        return problems

    def _write(self, state: GameState, new: Sequence[NewMatch]) -> Mapping[int, Outcome]:
        """Puts new matches into the game's history, and what waits with them; the outcomes."""
        end = ledger.read_end(state.game)
        waiting = ledger.read_waiting(state.game) if end.has_waiting else []
        if self.may_wait and _is_late([*waiting, *(stored.match for stored in new)], end.newest):
            limit = ledger.position_before_newest(state.game, MOST_RERATED)
            late = [stored for stored in new if _position(stored.match) < limit]
            self._store_waiting(state, late)
            new = [stored for stored in new if _position(stored.match) >= limit]
            waiting = [match for match in waiting if _position(match) >= limit]
        if not (new or waiting):
            return {}
        rewrite = history.Rewrite(new=new, waiting=waiting)
        return history.rerate(state, rewrite, end=end).outcomes

    def _store_waiting(self, state: GameState, new: Sequence[NewMatch]) -> Mapping[int, Outcome]:
        ledger.insert_matches(state.game, new, {})
        return {}

    def _new_matches(
        self, reports: Sequence[Report], numbers: Sequence[int], known: Mapping[str, KnownPlayer]
    ) -> list[NewMatch]:
        match_ids = ledger.next_match_ids(len(numbers))
        return [
            self._new_match(reports[number], match_id, known)
            for number, match_id in zip(numbers, match_ids, strict=True)
        ]

    def _new_match(
        self, report: Report, match_id: int, known: Mapping[str, KnownPlayer]
    ) -> NewMatch:
        entries = [
            Entry(player.id, team_number, team.place, player.owner_id)
            for team_number, team in enumerate(report.teams, start=1)
            for player in (known[fold(external_id)] for external_id in team.players)
        ]
        played_at = self.now if report.played_at is None else min(report.played_at, self.now)
        return NewMatch(
            match=PlayedMatch(played_at, entries, ledger.fact_of(report.termination), match_id),
            source_id=self.source.pk,
            external_id=report.external_id,
            received_at=self.now,
            termination=report.termination,
            report=Jsonb(canonical_report(report, known)),
            points={number: team.points for number, team in enumerate(report.teams, start=1)},
        )


class Overtaken(Exception):
    """Somebody else stored meanwhile what was to be stored: begin again, and see it."""


class Intake(_Recorder):
    """Takes in reports by the thousands without a lock, and records them all at once.

    What stands up is put aside, with new players not made yet but for their ids; `store` rates
    it from a snapshot, and then writes it. Nothing is stored before, and nothing if it fails.
    """

    def __init__(
        self, source: Source, staged: Staged, *, may_create_players: bool, at: datetime
    ) -> None:
        super().__init__(source, at, None, may_create_players, may_wait=False)
        self.staged = staged
        self.new_players: dict[str, tuple[str, KnownPlayer]] = {}

    def take(self, reports: Sequence[Report]) -> list[Receipt]:
        """What would become of the reports, in their order; WAITING for those put aside."""
        self.allowed = ledger.read_allowed_games(self.source.pk)
        states = ledger.read_states({report.game for report in reports})
        return self._take(reports, states, self._put_aside)

    def store(self, *, on_match: history.OnMatch | None = None) -> None:
        """Rates and stores what was put aside: all of it or nothing.

        Overtaken where the same source's reports, or its new players, were stored meanwhile.
        """
        staged, first = self.staged, self._create_players
        try:
            if not history.append_staged(staged, first=first, on_match=on_match):
                history.write_staged(
                    staged,
                    staged.new.keys(),
                    lambda state: history.Rewrite(staged=staged.new[state.game.slug]),
                    first=first,
                    on_match=on_match,
                )
        except (IntegrityError, OperationalError) as error:
            if not _is_worth_another_try(error):
                raise
            raise Overtaken from error

    def _put_aside(self, state: GameState, new: Sequence[NewMatch]) -> Mapping[int, Outcome]:
        self.staged.add_matches(state.game, new)
        return {}

    def _find_stored(self, external_ids: Collection[str]) -> dict[str, tuple[int, Any]]:
        return super()._find_stored(external_ids) | self.staged.read_reports(external_ids)

    def _find_players(self, player_ids: Collection[str]) -> dict[str, KnownPlayer]:
        keys = {fold(player_id) for player_id in player_ids}
        new = {key: self.new_players[key][1] for key in keys & self.new_players.keys()}
        return super()._find_players(player_ids) | new

    def _make_players(self, unknown: Mapping[str, str]) -> dict[str, KnownPlayer]:
        ids = reserve_player_ids(len(unknown))
        made = {
            key: KnownPlayer(id, is_bot=False, status=PlayerStatus.ACTIVE, owner_id=None)
            for key, id in zip(sorted(unknown), ids, strict=True)
        }
        self.new_players |= {key: (unknown[key], player) for key, player in made.items()}
        return made

    def _create_players(self) -> None:
        """Makes the new players, the games being locked."""
        for keys in batched(sorted(self.new_players), ledger.ROWS_AT_A_TIME):
            ids = {key: self.new_players[key][0] for key in keys}
            create_players(self.source, ids, {key: self.new_players[key][1].id for key in keys})
            if any(
                player != self.new_players[key][1]
                for key, player in find_players(self.source, ids.values()).items()
            ):
                raise Overtaken


def _is_late(matches: Iterable[PlayedMatch], newest: Position | None) -> bool:
    return newest is not None and min(map(_position, matches)) < newest


def _position(match: PlayedMatch) -> Position:
    return Position(match.played_at, match.id)


def _receipt_of_new(match_id: int, outcome: Outcome | None) -> Receipt:
    if outcome is None:
        return Receipt(Answer.WAITING, match_id)
    return Receipt(Answer.RECORDED, match_id, outcome.reason, outcome.changes)


def canonical_report(report: Report, known: Mapping[str, KnownPlayer]) -> dict[str, Any]:
    """The report as sent, in the form by which sameness is judged.

    Times in UTC before clamping, defaults filled, players resolved, teams and members as sets.
    A player not known yet stands as his folded id, which is no stored player's number.
    """
    teams = []
    for team in report.teams:
        players = [
            known[key].id if (key := fold(player)) in known else key for player in team.players
        ]
        teams.append([team.place, _points(team), sorted(players, key=str)])
    return {
        "game": report.game,
        "played_at": None if report.played_at is None else _iso(report.played_at),
        "termination": report.termination,
        "teams": sorted(teams, key=str),
    }


def _points(team: Any) -> str | None:
    return None if team.points is None else str(team.points)


def _receipt_of_known(
    match_id: int | None,
    stored: Mapping[str, Any],
    report: Report,
    known: Mapping[str, KnownPlayer],
) -> Receipt:
    canonical = canonical_report(report, known)
    different = [name for name, value in canonical.items() if stored[name] != value]
    if different:
        return _conflict(match_id, different, report)
    return Receipt(Answer.REPEATED, match_id)


def _conflict(match_id: int | None, fields: Collection[str], report: Report) -> Receipt:
    problem = _(
        'Another result is stored under the external_id "%(external_id)s": it differs in '
        "%(fields)s."
    ) % {"external_id": report.external_id, "fields": ", ".join(fields)}
    return Receipt(Answer.CONFLICT, match_id, problems=[problem])


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
