"""What staff may ask of history: to void, restore or correct matches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from ratings import ledger
from ratings.ledger import EditedMatch, FullMatch
from ratings.models import CorrectionKind, Game, Match, Player, Status, Termination
from ratings.reports import EARLIEST, LARGEST_PLACE, ReportError, parse_points
from ratings.systems.replay import VOID, Entry, PlayedMatch


@dataclass(frozen=True, slots=True)
class CorrectTeam:
    """A team as it should have been reported. `players` are ids of Player."""

    players: Sequence[int]
    place: int
    points: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Correct:
    """The right facts of one match; None leaves a fact as it is."""

    played_at: datetime | None = None
    termination: str | None = None
    teams: Sequence[CorrectTeam] | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change to some matches, of one game or several. `correct` goes with CORRECT alone."""

    kind: CorrectionKind
    match_ids: frozenset[int]
    correct: Correct = Correct()

    @property
    def games(self) -> list[str]:
        """The slugs of the games it touches. ReportError where a match does not exist."""
        found = dict(Match.objects.filter(pk__in=self.match_ids).values_list("pk", "game__slug"))
        if missing := self.match_ids - found.keys():
            raise ReportError([_("There is no match %(id)d.") % {"id": min(missing)}])
        return sorted(set(found.values()))

    def edits(self, game: Game, *, at: datetime | None = None) -> dict[int, EditedMatch]:
        """What changes in this game, by match id: nothing for a match that is so already.

        ReportError where a match waits, or would be against the rules of the game.
        """
        edits = {}
        for match_id, full in ledger.read_matches(game, self.match_ids).items():
            if full.status == Status.WAITING:
                raise ReportError(
                    [
                        _("Match %(id)d still waits for its place in history: try again soon.")
                        % {"id": match_id}
                    ]
                )
            edit = self._edit(game, full, at or datetime.now(UTC))
            if edit is not None:
                edits[match_id] = edit
        return edits

    def _edit(self, game: Game, full: FullMatch, at: datetime) -> EditedMatch | None:
        if self.kind == CorrectionKind.CORRECT:
            return _corrected(game, full, self.correct, at)
        is_void = self.kind == CorrectionKind.VOID
        fact = ledger.fact_of(full.termination, is_void=is_void)
        if is_void == (full.status == Status.VOID):
            return None
        match = full.match._replace(fact=fact)
        return EditedMatch(full.match, match, full.termination, full.points, is_rebuilt=False)


def void(match_ids: Collection[int]) -> Proposal:
    """To take matches out of the ratings."""
    return Proposal(CorrectionKind.VOID, frozenset(match_ids))


def restore(match_ids: Collection[int]) -> Proposal:
    """To put void matches back."""
    return Proposal(CorrectionKind.RESTORE, frozenset(match_ids))


def correct(match_id: int, right: Correct) -> Proposal:
    """To set the facts of a match right."""
    return Proposal(CorrectionKind.CORRECT, frozenset([match_id]), right)


def _corrected(game: Game, full: FullMatch, right: Correct, at: datetime) -> EditedMatch | None:
    old = full.match
    played_at = right.played_at or old.played_at
    termination = full.termination if right.termination is None else right.termination
    problems = _fact_problems(played_at, termination, at)
    if right.teams is not None:
        problems += _team_problems(game, right.teams)
    if problems:
        raise ReportError(problems)
    entries, points = old.entries, full.points
    if right.teams is not None:
        entries, points = _entries(right.teams, old)
    fact = ledger.fact_of(termination, is_void=old.fact == VOID)
    match = PlayedMatch(played_at.astimezone(UTC), entries, fact, old.id)
    edit = EditedMatch(old, match, termination, points, is_rebuilt=True)
    return None if _facts(edit) == _facts(full) else edit


def _facts(form: FullMatch | EditedMatch) -> tuple[Any, ...]:
    """What a match says, however its teams and their members are listed."""
    teams: dict[int, set[int]] = {}
    places = {}
    for entry in form.match.entries:
        teams.setdefault(entry.team, set()).add(entry.player)
        places[entry.team] = entry.place
    sides = {
        (places[team], form.points[team], frozenset(players)) for team, players in teams.items()
    }
    return form.match.played_at, form.termination, sides


def _entries(
    teams: Sequence[CorrectTeam], old: PlayedMatch
) -> tuple[list[Entry], dict[int, Decimal | None]]:
    """Entries of the right teams. Who was in the match keeps the owner he had at the time."""
    owners: dict[int, Any] = {
        **dict(
            Player.objects.filter(
                pk__in=[player for team in teams for player in team.players]
            ).values_list("pk", "owner_id")
        ),
        **{entry.player: entry.owner for entry in old.entries},
    }
    entries = [
        Entry(player, number, team.place, owners.get(player))
        for number, team in enumerate(teams, start=1)
        for player in team.players
    ]
    points = {number: parse_points(team.points) for number, team in enumerate(teams, start=1)}
    return entries, points


def _fact_problems(played_at: datetime, termination: str, at: datetime) -> list[str]:
    problems = []
    if played_at.tzinfo is None or played_at > at:
        problems.append(
            _("Unexpected played_at %(played_at)s: a moment that has been, with an offset.")
            % {"played_at": played_at.isoformat()}
        )
    elif played_at < EARLIEST:
        problems.append(
            _("Unexpected played_at %(value)s: the earliest year is %(year)d.")
            % {"value": played_at.isoformat(), "year": EARLIEST.year}
        )
    if termination not in Termination.values:
        problems.append(
            _("Unexpected termination %(value)s: one of %(choices)s is needed.")
            % {"value": termination, "choices": ", ".join(Termination.values)}
        )
    return problems


def _team_problems(game: Game, teams: Sequence[CorrectTeam]) -> list[str]:
    problems = []
    players = [player for team in teams for player in team.players]
    known = set(Player.objects.filter(pk__in=players).values_list("pk", flat=True))
    problems += [
        _("There is no player %(id)d.") % {"id": player}
        for player in players
        if player not in known
    ]
    if len(set(players)) < len(players):
        problems.append(_("A player is repeated: nobody plays twice in a match."))
    problems += [
        _("Unexpected place %(value)s for team %(number)d: places are whole, from 1.")
        % {"value": team.place, "number": number}
        for number, team in enumerate(teams, start=1)
        if type(team.place) is not int or not 1 <= team.place <= LARGEST_PLACE
    ]
    problems += [
        _("Unexpected players %(value)s in team %(number)d: a list of ids is needed.")
        % {"value": "[]", "number": number}
        for number, team in enumerate(teams, start=1)
        if not team.players
    ]
    for team in teams:
        try:
            parse_points(team.points)
        except ValueError as error:
            problems.append(str(error))
    return problems + game.shape_problems([len(team.players) for team in teams])


def described(full_or_edit: FullMatch | EditedMatch, *, status: str) -> Mapping[str, Any]:
    """A match as a correction keeps it."""
    match, points = full_or_edit.match, full_or_edit.points
    teams: dict[int, list[Any]] = {}
    for entry in match.entries:
        score = points[entry.team]
        teams.setdefault(entry.team, [entry.place, None if score is None else str(score), []])[
            2
        ].append(entry.player)
    return {
        "status": status,
        "played_at": match.played_at.isoformat(),
        "termination": full_or_edit.termination,
        "teams": list(teams.values()),
    }
