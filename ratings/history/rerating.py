"""Rating a game again from a position on, with matches put in, taken out or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import Any

from django.db import transaction

from ratings import ledger
from ratings.ledger import EditedMatch, NewMatch, Position, StoredMatch, StoredRating
from ratings.models import Game, GameState
from ratings.snapshots import snapshot
from ratings.systems.engine import engine
from ratings.systems.replay import Outcome, PlayedMatch, Replay, Standing, count_result

type OnMatch = Callable[[], None]
"""Called for each match that is rated again, so that somebody may watch."""

TRIES = 3
"""How often a re-rating from a snapshot starts over because history was rewritten meanwhile."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What is to change in a game's history.

    `new` matches are not stored yet, `waiting` ones are stored outside history, `edited` ones
    (by id) are in it and change facts or place.
    """

    new: Sequence[NewMatch] = ()
    waiting: Sequence[PlayedMatch] = ()
    edited: Mapping[int, EditedMatch] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.waiting or self.edited)

    @property
    def since(self) -> Position:
        """The earliest position it touches; ValueError where it touches none."""
        matches = [*self.placed]
        matches += [edit.was for edit in self.edited.values()]
        return min(Position(match.played_at, match.id) for match in matches)

    @property
    def placed(self) -> Iterator[PlayedMatch]:
        """The matches as they are to be, each in its place."""
        yield from (stored.match for stored in self.new)
        yield from self.waiting
        yield from (edit.match for edit in self.edited.values())


NOTHING = Rewrite()


@dataclass(frozen=True, slots=True)
class Rerating:
    """What a re-rating did. `outcomes` holds those of the matches put in place, by match id."""

    outcomes: Mapping[int, Outcome]
    rerated: int


NOTHING_RERATED = Rerating({}, 0)


class Rerun:
    """A game's history replayed from a position on with a rewrite put in. Writes nothing.

    Memory and time grow with what lies behind the position, not with the history before it.
    """

    def __init__(
        self,
        game: Game,
        rewrite: Rewrite,
        since: Position | None = None,
        *,
        on_match: OnMatch | None = None,
    ) -> None:
        self.rewrite = rewrite
        self.on_match = on_match
        self.since = rewrite.since if since is None else since
        self.game = game
        newest = ledger.newest_position(game)
        self.is_append = not rewrite.edited and (newest is None or self.since > newest)
        self.end = newest
        player_sets = {_players(match) for match in rewrite.placed}
        if not self.is_append:
            player_sets |= ledger.read_player_sets_since(game, self.since)
        players = {player for together in player_sets for player in together}
        self.old = ledger.read_ratings(game, players)
        self.replay = Replay(
            _standings_before(game, self.since, self.old, is_append=self.is_append),
            ledger.read_recent(game, self.since, player_sets),
        )
        self.rerated = 0
        self.outcomes: dict[int, Outcome] = {}

    def changes(self) -> Iterator[Outcome]:
        """Runs; yields what the ledger does not say yet of the matches it holds.

        The outcomes of the matches put in place gather in `outcomes`.
        """
        stored_history = iter(()) if self.is_append else ledger.read_history(self.game, self.since)
        for match, stored in _in_order(stored_history, self.rewrite.placed):
            if self.on_match is not None:
                self.on_match()
            if stored is None:
                self.outcomes[match.id] = self.replay.rate(match)
                continue
            if stored.changes:
                # The standings still count what the ledger said before.
                count_result(self.replay.standings, match.entries, -1)
            if match.id in self.rewrite.edited:
                continue
            self.rerated += 1
            outcome = self.replay.rate(match)
            if not says(stored, outcome):
                yield outcome

    @property
    def standings(self) -> dict[int, Standing]:
        """The standings that differ from the stored ratings, by player."""
        return {
            player: standing
            for player, standing in self.replay.standings.items()
            if player not in self.old or standing != self.old[player].standing
        }


def rerate(
    state: GameState,
    rewrite: Rewrite = NOTHING,
    *,
    since: Position | None = None,
    on_match: OnMatch | None = None,
) -> Rerating:
    """Rates the game from the earliest position touched on, and stores it.

    With `since` it begins there, where nothing is rewritten or the rewrite begins later. The
    caller holds the game's lock.
    """
    if rewrite.is_empty and since is None:
        return NOTHING_RERATED
    run = Rerun(state.game, rewrite, since, on_match=on_match)
    for part in _parts(run.changes()):
        ledger.update_matches(part)
    _place(state, run)
    ledger.write_ratings(state, run.standings, run.old)
    # Whoever works on a snapshot may have meant to place the same waiting matches.
    ledger.announce(state, is_rewrite=not run.is_append or bool(rewrite.waiting))
    return Rerating(run.outcomes, run.rerated)


def _place(state: GameState, run: Rerun) -> None:
    """Stores the matches that were put in place."""
    rewrite = run.rewrite
    ledger.insert_matches(state.game, rewrite.new, run.outcomes)
    ledger.edit_matches(state.game, rewrite.edited.values())
    ledger.update_matches(
        run.outcomes[match_id]
        for match_id in (*(match.id for match in rewrite.waiting), *rewrite.edited)
    )


def rerate_from_snapshot(
    slug: str, plan: Callable[[Game], Rewrite], *, on_match: OnMatch | None = None
) -> Rerating:
    """Rates a game again, computing without its lock.

    `plan` reads what is to change. The long part runs on a snapshot and keeps its results aside;
    then the game is locked, they are written, and what was appended meanwhile is rated again. So
    others wait for the writing only, readers see the old state or the new one, and a crash leaves
    the old. Where history was rewritten meanwhile it starts over, at last under the lock.
    """
    for _ in range(TRIES):
        staged = ledger.stage()
        with snapshot():
            before = GameState.objects.select_related("game").get(game__slug=slug)
            rewrite = plan(before.game)
            if rewrite.is_empty:
                return NOTHING_RERATED
            run = Rerun(before.game, rewrite, on_match=on_match)
            for part in _parts(run.changes()):
                staged.add(part)
        with transaction.atomic():
            state = ledger.lock_games([slug])[slug]
            if state.rewrites == before.rewrites:
                return _write_run(state, run, staged)
    with transaction.atomic():
        state = ledger.lock_games([slug])[slug]
        return rerate(state, plan(state.game), on_match=on_match)


def _write_run(state: GameState, run: Rerun, staged: ledger.Staged) -> Rerating:
    """Stores what a run on a snapshot found, and rates again what was appended since."""
    staged.write()
    _place(state, run)
    now = ledger.read_ratings(state.game, run.standings.keys())
    ledger.write_ratings(
        state,
        {
            player: _carried_on(standing, run.old.get(player), now.get(player))
            for player, standing in run.standings.items()
        },
        now,
    )
    newest = ledger.newest_position(state.game)
    rerated = run.rerated
    if newest is not None and (run.end is None or newest > run.end):
        end = run.end or ledger.BEGINNING
        again = rerate(state, since=Position(end.played_at, end.id + 1))
        rerated += again.rerated
    else:
        ledger.announce(state, is_rewrite=True)
    return Rerating(run.outcomes, rerated)


def _carried_on(standing: Standing, was: StoredRating | None, now: StoredRating | None) -> Standing:
    """A standing at the end of a run, with what was appended since still counted.

    The re-rating of the appended matches takes skills from the ledger and counters from here.
    """
    if now is None or (was is not None and was.standing == now.standing):
        return standing
    old = Standing() if was is None else was.standing
    carried = replace(
        standing,
        won=now.standing.won + standing.won - old.won,
        drawn=now.standing.drawn + standing.drawn - old.drawn,
        lost=now.standing.lost + standing.lost - old.lost,
        last_played_at=now.standing.last_played_at,
    )
    if carried.peak_at is None:
        # Nothing rated before what was appended: that re-rating will look for the peak.
        carried.peak_elo, carried.peak_at = now.standing.peak_elo, now.standing.peak_at
    carried.peak_elo = max(carried.peak_elo, carried.elo)
    return carried


def rerate_from_start(state: GameState, *, on_match: OnMatch | None = None) -> int:
    """Rates the whole game again from nothing, whatever is stored; how many matches it has.

    What heals every difference that `verify` finds but contradictions, and makes the numbers
    those of this machine. Under the lock that the caller holds.
    """
    replay = Replay()
    matches = 0

    def changes() -> Iterator[Outcome]:
        nonlocal matches
        for stored in ledger.read_history(state.game):
            outcome = replay.rate(stored.match)
            matches += 1
            if on_match is not None:
                on_match()
            if not says(stored, outcome):
                yield outcome

    for part in _parts(changes()):
        ledger.update_matches(part)
    ledger.recount(state.game)  # so that the counts can be carried on, however wrong they were
    old = ledger.read_ratings(state.game)
    ledger.write_ratings(state, dict.fromkeys(old, Standing()) | replay.standings, old)
    state.engine = engine()
    ledger.announce(state, is_rewrite=True)
    return matches


def _parts(outcomes: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    part = []
    for outcome in outcomes:
        part.append(outcome)
        if len(part) >= ledger.ROWS_AT_A_TIME:
            yield part
            part = []
    if part:
        yield part


def _standings_before(
    game: Game, since: Position, old: Mapping[int, StoredRating], *, is_append: bool
) -> dict[int, Standing]:
    """Each known player's standing before a position, but for the counters.

    Won, drawn and lost are those of today: what lies behind the position is taken off while it
    is read. Most players have not played since, and stand as they stand now.
    """
    standings = {player: replace(stored.standing) for player, stored in old.items()}
    if is_append:
        return standings
    moved = {
        player: standing
        for player, standing in standings.items()
        if standing.last_played_at is not None and standing.last_played_at >= since.played_at
    }
    skills = ledger.read_skills_before(game, moved.keys(), since)
    # A peak reached before the position still stands; the others have to be looked for.
    peaks = ledger.read_peaks_before(
        game,
        [
            player
            for player, standing in moved.items()
            if standing.peak_at is not None and standing.peak_at >= since.played_at
        ],
        since,
    )
    for player, standing in moved.items():
        if player not in skills:
            newcomer = Standing(won=standing.won, drawn=standing.drawn, lost=standing.lost)
            standings[player] = newcomer
            continue
        (standing.elo, standing.mu, standing.sigma), standing.last_played_at = skills[player]
        if player in peaks:
            standing.peak_elo, standing.peak_at = peaks[player]
    return standings


def _players(match: PlayedMatch) -> tuple[int, ...]:
    return tuple(sorted(entry.player for entry in match.entries))


def _in_order(
    stored: Iterator[StoredMatch], placed: Iterable[PlayedMatch]
) -> Iterator[tuple[PlayedMatch, StoredMatch | None]]:
    """Stored matches and those to be placed, in the order of history."""
    return merge(
        ((kept.match, kept) for kept in stored),
        sorted(((match, None) for match in placed), key=_history_order),
        key=_history_order,
    )


def _history_order(item: tuple[PlayedMatch, StoredMatch | None]) -> tuple[Any, int]:
    return item[0].played_at, item[0].id


def says(stored: StoredMatch, outcome: Outcome) -> bool:
    """Whether the ledger says of a match what the replay says."""
    return (stored.status, stored.reason) == ledger.status_of(outcome.reason) and (
        list(stored.changes) == list(outcome.changes)
    )
