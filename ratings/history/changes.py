"""Carrying out what staff ask of history, and showing beforehand what it would do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest, nsmallest

from django.db.models import Min

from ratings import ledger
from ratings.history.proposals import Correct, Proposal, correct, described, restore, void
from ratings.history.rerating import OnMatch, Rerating, Rerun, Rewrite, rewrite_history
from ratings.ledger import EditedMatch, FullMatch, Position
from ratings.models import (
    CorrectedMatch,
    Correction,
    Game,
    GameState,
    Match,
    Status,
    System,
    User,
)
from ratings.snapshots import snapshot
from ratings.systems import decay
from ratings.systems.match import START
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import Outcome, Standing

SHOWN_MOVERS = 10
TOP = 10


@dataclass(frozen=True, slots=True)
class Mover:
    """A player whose Elo would change; None where there is, or would be, no rating."""

    player_id: int
    elo_before: float | None
    elo_after: float | None

    @property
    def change(self) -> float:
        start = START[0]
        before = start if self.elo_before is None else self.elo_before
        return (start if self.elo_after is None else self.elo_after) - before


@dataclass(frozen=True, slots=True)
class Preview:
    """What a proposal would do to one game, as of the game's `version`.

    `top` holds, for each system, the player ids of the first ten before and after.
    """

    game: Game
    version: int
    matches: int
    rerated: int
    players: int
    movers: Sequence[Mover]
    top: Mapping[str, tuple[Sequence[int], Sequence[int]]]


class HistoryMoved(Exception):
    """The game changed since the preview: `previews` are new ones, to be confirmed instead."""

    def __init__(self, previews: Sequence[Preview]) -> None:
        self.previews = previews
        super().__init__(", ".join(f"{each.game.slug} {each.version}" for each in previews))


def preview(
    proposal: Proposal, *, at: datetime | None = None, on_match: OnMatch | None = None
) -> list[Preview]:
    """What the proposal would change, game by game, without a lock and without a trace."""
    with snapshot():
        states = GameState.objects.filter(game__slug__in=proposal.games).select_related("game")
        return [
            _preview_game(state, proposal, at, on_match) for state in states.order_by("game_id")
        ]


def carry_out(
    proposal: Proposal,
    *,
    by: User | None,
    reason: str,
    note: str = "",
    expected: Mapping[str, int] | None = None,
    at: datetime | None = None,
    on_match: OnMatch | None = None,
) -> list[Correction]:
    """Changes history as proposed: one re-rating and one Correction for each game that changes.

    `expected` holds the previewed version of each game by slug; HistoryMoved where one has moved
    on when this begins, or is rewritten meanwhile. ReportError where the proposal is against the
    rules. All of it or nothing.
    """
    before: dict[str, dict[int, FullMatch]] = {}
    corrections = []

    def plan(state: GameState) -> Rewrite:
        slug = state.game.slug
        if expected is not None and expected.get(slug) != state.version:
            raise _Moved
        edits = proposal.edits(state.game, at=at)
        before[slug] = ledger.read_matches(state.game, edits.keys())
        return Rewrite(edited=edits)

    def then(state: GameState, rewrite: Rewrite, rerating: Rerating) -> None:
        correction = Correction.objects.create(
            game=state.game,
            kind=proposal.kind,
            reason=reason,
            note=note,
            made_by=by,
            rerated=rerating.rerated,
        )
        _describe(correction, before[state.game.slug], rewrite.edited, rerating.outcomes)
        corrections.append(correction)

    try:
        rewrite_history(proposal.games, plan, then=then, on_match=on_match)
    except _Moved:
        raise HistoryMoved(preview(proposal, at=at)) from None
    return corrections


class _Moved(Exception):
    """A game's version is not the one that was shown."""


def count_behind(proposal: Proposal) -> int:
    """How many matches stand in history from the first that the proposal touches, game by game."""
    touched = Match.objects.filter(pk__in=proposal.match_ids).order_by()
    begins = dict(touched.values_list("game").annotate(first=Min("played_at")))
    moved_to = proposal.correct.played_at
    return sum(
        ledger.count_history(game, Position(min(begins[game.pk], moved_to or begins[game.pk])))
        for game in Game.objects.filter(pk__in=begins)
    )


def void_matches(
    match_ids: Collection[int],
    *,
    by: User | None,
    reason: str,
    note: str = "",
    expected: Mapping[str, int] | None = None,
) -> list[Correction]:
    """Takes matches out of the ratings; those that are void already are left alone."""
    return carry_out(void(match_ids), by=by, reason=reason, note=note, expected=expected)


def restore_matches(
    match_ids: Collection[int],
    *,
    by: User | None,
    reason: str,
    note: str = "",
    expected: Mapping[str, int] | None = None,
) -> list[Correction]:
    """Puts void matches back; those that are not void are left alone."""
    return carry_out(restore(match_ids), by=by, reason=reason, note=note, expected=expected)


def correct_match(
    match_id: int,
    right: Correct,
    *,
    by: User | None,
    reason: str,
    note: str = "",
    expected: Mapping[str, int] | None = None,
    at: datetime | None = None,
) -> list[Correction]:
    """Sets the facts of a match right; nothing happens where they are right already."""
    return carry_out(
        correct(match_id, right), by=by, reason=reason, note=note, expected=expected, at=at
    )


def _describe(
    correction: Correction,
    before: Mapping[int, FullMatch],
    edits: Mapping[int, EditedMatch],
    outcomes: Mapping[int, Outcome],
) -> None:
    """Keeps what the correction made of each match."""
    CorrectedMatch.objects.bulk_create(
        [
            CorrectedMatch(
                correction=correction,
                match_id=match_id,
                before=described(before[match_id], status=before[match_id].status),
                after=described(edit, status=ledger.status_of(outcomes[match_id].reason)[0]),
            )
            for match_id, edit in edits.items()
        ],
        batch_size=ledger.ROWS_AT_A_TIME,
    )


def find_matches(
    *,
    source: str | None = None,
    players: Collection[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    game: str | None = None,
    are_void: bool = False,
) -> list[int]:
    """Ids of the matches that stand, by what they have in common: for a quarantine.

    Of one source, of one or several players (by handle) who all took part, of a period, of a
    game. With `are_void` those that are void instead, to take a quarantine back. ValueError where
    nothing is named: that would be everything.
    """
    if not (source or players or since or until):
        raise ValueError("Name a source, a player or a period: this would be every match.")
    statuses = [Status.VOID] if are_void else [Status.RATED, Status.UNRATED]
    matches = Match.objects.filter(status__in=statuses)
    if game:
        matches = matches.filter(game__slug=game)
    if source:
        matches = matches.filter(source__name=source)
    if since:
        matches = matches.filter(played_at__gte=since)
    if until:
        matches = matches.filter(played_at__lt=until)
    for handle in players:
        matches = matches.filter(participations__player__handle=handle)
    return list(matches.values_list("pk", flat=True))


def _preview_game(
    state: GameState, proposal: Proposal, at: datetime | None, on_match: OnMatch | None
) -> Preview:
    edits = proposal.edits(state.game, at=at)
    if not edits:
        return Preview(state.game, state.version, 0, 0, 0, [], _unchanged_top(state.game))
    run = Rerun(state.game, Rewrite(edited=edits), on_match=on_match)
    for _ in run.changes():
        pass
    standings = run.standings
    movers = [
        Mover(
            player,
            None if player not in run.old else run.old[player].standing.elo,
            None if standing.last_played_at is None else standing.elo,
        )
        for player, standing in standings.items()
    ]
    return Preview(
        game=state.game,
        version=state.version,
        matches=len(edits),
        rerated=run.rerated,
        players=len(standings),
        movers=nlargest(SHOWN_MOVERS, movers, key=_size),
        top={system.value: _top(state, system, standings) for system in System},
    )


def _size(mover: Mover) -> tuple[float, int]:
    return abs(mover.change), -mover.player_id


def _unchanged_top(game: Game) -> dict[str, tuple[Sequence[int], Sequence[int]]]:
    tops = {system.value: list(ledger.read_top(game, system, TOP)) for system in System}
    return {system: (top, top) for system, top in tops.items()}


def _top(
    state: GameState, system: System, standings: Mapping[int, Standing]
) -> tuple[Sequence[int], Sequence[int]]:
    """Who stands first on a board now, and who would with these standings instead."""
    now = ledger.read_top(state.game, system, TOP)
    keys = ledger.read_top(state.game, system, TOP, without=standings.keys())
    facts = ledger.read_listing_facts(standings.keys())
    for player, standing in standings.items():
        if standing.last_played_at is None:
            continue
        _is_bot, is_active = facts[player]
        if is_active and ledger.is_recent(state, standing.last_played_at):
            keys[player] = _board_key(state, system, standing)
    after = nsmallest(TOP, keys, key=lambda player: (-keys[player][0], -keys[player][1], player))
    return list(now), after


def _board_key(state: GameState, system: System, standing: Standing) -> tuple[int, float]:
    exact = standing.elo
    if system == System.OPENSKILL and standing.last_played_at is not None:
        sigma = decay.sigma_at(standing.sigma, standing.last_played_at, state.decayed_to)
        exact = displayed_rating(standing.mu, sigma)
    return round(exact), exact
