"""The one way in for a result, one or ten thousand at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import DatabaseError, IntegrityError, OperationalError, transaction
from django.utils.translation import gettext as _
from psycopg.types.json import Jsonb

from ratings import history, ledger
from ratings.ledger import NewMatch, Position
from ratings.models import Game, GameState, Match, Source
from ratings.names import fold
from ratings.players import KnownPlayer, create_players, find_players
from ratings.reports import Report
from ratings.systems.replay import Change, Entry, PlayedMatch

CLOCK_TOLERANCE = timedelta(minutes=2)
"""How far ahead of ours a source's clock may be; the time is then taken as now."""

API_MAX_AGE = timedelta(days=30)


class Answer(StrEnum):
    RECORDED = "recorded"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a report.

    RECORDED: stored and rated, with the changes it made (none where it is not rated). REPEATED:
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
) -> list[Receipt]:
    """Stores and rates the reports that stand up; a receipt for each, in their order.

    One transaction: it locks every game named, in id order, until all is written. Among equal
    times the order of the reports is the order of history. `at` is now; a report older than
    `max_age` is refused; `may_create_players` overrides what the source is allowed.
    """
    at = at or datetime.now(UTC)
    if may_create_players is None:
        may_create_players = source.may_create_players
    recorder = _Recorder(source, at, max_age, may_create_players)
    try:
        with transaction.atomic():
            return recorder.record(reports)
    except (IntegrityError, OperationalError) as error:
        if not _is_worth_another_try(error):
            raise
    # The other writer has committed by now, so the second look sees what it did.
    with transaction.atomic():
        return recorder.record(reports)


def _is_worth_another_try(error: DatabaseError) -> bool:
    """Whether a writer in another game came first with the same new id.

    The games' locks do not exclude that: one source may send one external_id for two games, or
    two sources may meet a new player at once.
    """
    sqlstate = getattr(error.__cause__, "sqlstate", "")
    deadlock_detected, unique_violation = "40P01", "23505"
    return sqlstate in (deadlock_detected, unique_violation)


@dataclass(slots=True)
class _Recorder:
    """Takes one batch of reports through lock, look-up, checks, and the writing of history.

    A batch comes to the same as its reports one by one.
    """

    source: Source
    at: datetime
    max_age: timedelta | None
    may_create_players: bool
    games: str = ""
    """The slugs of all games, once somebody has to be told."""

    def record(self, reports: Sequence[Report]) -> list[Receipt]:
        states = ledger.lock_games({report.game for report in reports})
        known = find_players(self.source, {p for report in reports for p in report.players})
        stored = self._stored_reports(reports)
        allowed = set(self.source.games.values_list("slug", flat=True))
        receipts: dict[int, Receipt] = {}
        accepted: dict[str, int] = {}
        doubles = []
        for number, report in enumerate(reports):
            # Before every other check: a report that was accepted once stays accepted.
            if report.external_id in stored:
                match = stored[report.external_id]
                receipts[number] = _receipt_of_known(match.pk, match.report, report, known)
            elif report.external_id in accepted:
                doubles.append(number)
            elif problems := self._problems(report, states, allowed, known):
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
            create_players(self.source, unknown)
            known |= find_players(self.source, unknown.values())

        by_game: dict[str, list[int]] = {}
        for number in accepted.values():
            by_game.setdefault(reports[number].game, []).append(number)
        for slug, numbers in by_game.items():
            self._write(states[slug], reports, numbers, known, receipts)
        # As if they had come a moment later.
        for number in doubles:
            report = reports[number]
            first = accepted[report.external_id]
            receipts[number] = _receipt_of_known(
                receipts[first].match_id, canonical_report(reports[first], known), report, known
            )
        return [receipts[number] for number in range(len(reports))]

    def _stored_reports(self, reports: Sequence[Report]) -> dict[str, Match]:
        """The matches that the source has reported before, by external_id."""
        matches = Match.objects.filter(
            source=self.source, external_id__in={report.external_id for report in reports}
        )
        return {match.external_id: match for match in matches.only("external_id", "report")}

    def _problems(
        self,
        report: Report,
        states: Mapping[str, GameState],
        allowed: Collection[str],
        known: Mapping[str, KnownPlayer],
    ) -> list[str]:
        """Why the report cannot be accepted. `allowed` names games; empty means every one."""
        if report.game not in states:
            return [self._unknown_game(report.game)]
        if allowed and report.game not in allowed:
            return [
                _('Source "%(source)s" may not report the game "%(game)s".')
                % {"source": self.source.name, "game": report.game}
            ]
        return [
            *_shape_problems(states[report.game].game, report),
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
        shown = {"played_at": _iso(report.played_at), "now": _iso(self.at)}
        if report.played_at > self.at + CLOCK_TOLERANCE:
            return [
                _("Unexpected played_at %(played_at)s: it is in the future, now is %(now)s.")
                % shown
            ]
        if self.max_age is not None and report.played_at < self.at - self.max_age:
            return [
                _(
                    "Unexpected played_at %(played_at)s: it is more than %(days)d days ago. "
                    "Older results can be imported by staff."
                )
                % {"days": self.max_age.days, **shown}
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

    def _write(
        self,
        state: GameState,
        reports: Sequence[Report],
        numbers: Sequence[int],
        known: Mapping[str, KnownPlayer],
        receipts: dict[int, Receipt],
    ) -> None:
        """Puts one game's accepted reports into its history."""
        match_ids = ledger.next_match_ids(len(numbers))
        new = [
            self._new_match(reports[number], match_id, known)
            for number, match_id in zip(numbers, match_ids, strict=True)
        ]
        since = min(Position(match.match.played_at, match.match.id) for match in new)
        rerating = history.rerate(state, since=since, new=new)

        for number, match_id in zip(numbers, match_ids, strict=True):
            outcome = rerating.outcomes[match_id]
            receipts[number] = Receipt(Answer.RECORDED, match_id, outcome.reason, outcome.changes)

    def _new_match(
        self, report: Report, match_id: int, known: Mapping[str, KnownPlayer]
    ) -> NewMatch:
        entries = [
            Entry(player.id, team_number, team.place, player.owner_id)
            for team_number, team in enumerate(report.teams, start=1)
            for player in (known[fold(external_id)] for external_id in team.players)
        ]
        played_at = self.at if report.played_at is None else min(report.played_at, self.at)
        return NewMatch(
            match=PlayedMatch(played_at, entries, ledger.fact_of(report.termination), match_id),
            source_id=self.source.pk,
            external_id=report.external_id,
            received_at=self.at,
            termination=report.termination,
            report=Jsonb(canonical_report(report, known)),
            points={number: team.points for number, team in enumerate(report.teams, start=1)},
        )


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


def _shape_problems(game: Game, report: Report) -> list[str]:
    sizes = [len(team.players) for team in report.teams]
    players = sum(sizes)
    if not game.min_players <= players <= game.max_players:
        return [
            _("Unexpected number of players, %(players)d: %(game)s has %(fewest)d to %(most)d.")
            % {
                "players": players,
                "game": game.slug,
                "fewest": game.min_players,
                "most": game.max_players,
            }
        ]
    if not game.allows(sizes):
        return [
            _("Unexpected teams of %(sizes)s players: %(game)s is played %(shapes)s.")
            % {
                "sizes": " v ".join(map(str, sizes)),
                "game": game.slug,
                "shapes": ", ".join(game.shapes),
            }
        ]
    return []


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
