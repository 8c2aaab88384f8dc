"""Rating a game again from a position on, with matches put in, taken out or changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import Any

from django.db import transaction

from ratings import ledger
from ratings.ledger import (
    EditedMatch,
    End,
    NewMatch,
    Position,
    Staged,
    StagedMatches,
    StoredMatch,
    StoredRating,
)
from ratings.models import Game, GameState
from ratings.snapshots import snapshot
from ratings.systems.engine import engine
from ratings.systems.replay import Outcome, PlayedMatch, Replay, Standing, count_result

type OnMatch = Callable[[], None]
"""Called for each match that is rated again, so that somebody may watch."""

MOST_RERATED = 2000
"""What has more matches rated again is long: nobody is to wait for it."""

TRIES = 3
"""How often a re-rating from a snapshot starts over because history was rewritten meanwhile."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What is to change in a game's history.

    `new` matches are not stored yet, `waiting` ones are stored outside history, `edited` ones
    (by id) are in it and change facts or place. `staged` are new ones by the thousands.
    """

    new: Sequence[NewMatch] = ()
    staged: StagedMatches | None = None
    waiting: Sequence[PlayedMatch] = ()
    edited: Mapping[int, EditedMatch] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.staged or self.waiting or self.edited)

    @property
    def since(self) -> Position:
        """The earliest position it touches; ValueError where it touches none."""
        matches = [*self.placed]
        matches += [edit.was for edit in self.edited.values()]
        positions = [Position(match.played_at, match.id) for match in matches]
        if self.staged is not None:
            positions.append(self.staged.first)
        return min(positions)

    @property
    def placed(self) -> Iterator[PlayedMatch]:
        """The matches as they are to be, each in its place; but for the staged ones."""
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

    Memory and time grow with what lies behind the position, not with the history before it. Who
    has read already where the history ends gives it as `end`.
    """

    def __init__(
        self,
        game: Game,
        rewrite: Rewrite,
        since: Position | None = None,
        *,
        end: End | None = None,
        on_match: OnMatch | None = None,
    ) -> None:
        self.rewrite = rewrite
        self.on_match = on_match
        self.since = rewrite.since if since is None else since
        self.game = game
        newest = (end or ledger.read_end(game)).newest
        self.is_append = not rewrite.edited and (newest is None or self.since > newest)
        self.end = newest
        player_sets = {_players(match) for match in rewrite.placed}
        if not self.is_append:
            player_sets |= ledger.read_player_sets_since(game, self.since)
        players = {player for together in player_sets for player in together}
        if rewrite.staged is not None:
            players |= rewrite.staged.players
        self.old = ledger.read_ratings(game, players)
        self.replay = Replay(
            _standings_before(game, self.since, self.old, is_append=self.is_append),
            ledger.read_recent(game, self.since, None if rewrite.staged else player_sets),
        )
        self.rerated = 0
        self.outcomes: dict[int, Outcome] = {}

    def changes(self) -> Iterator[Outcome]:
        """Runs; yields what the ledger does not say yet of the matches it holds.

        The outcomes of the matches put in place gather in `outcomes`; those of staged ones, which
        may be too many for that, are yielded too.
        """
        staged = self.rewrite.staged
        stored_history = iter(()) if self.is_append else ledger.read_history(self.game, self.since)
        placed = iter(()) if staged is None else staged.read()
        for match, stored in _in_order(stored_history, self.rewrite.placed, placed):
            if self.on_match is not None:
                self.on_match()
            if stored is None:
                outcome = self.replay.rate(match)
                if staged is None:
                    self.outcomes[match.id] = outcome
                else:
                    yield outcome
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

    def place(self, state: GameState) -> None:
        """Stores the matches that were put in place."""
        ledger.insert_matches(state.game, self.rewrite.new, self.outcomes)
        ledger.edit_matches(state.game, self.rewrite.edited.values())
        ledger.update_matches(
            self.outcomes[match_id]
            for match_id in (*(match.id for match in self.rewrite.waiting), *self.rewrite.edited)
        )

    @property
    def standings(self) -> dict[int, Standing]:
        """The standings that differ from the stored ratings, by player."""
        return {
            player: standing
            for player, standing in self.replay.standings.items()
            if player not in self.old or standing != self.old[player].standing
        }


class WholeRerun(Rerun):
    """A game's history replayed from nothing, whatever is stored. Writes nothing."""

    def __init__(self, game: Game, *, on_match: OnMatch | None = None) -> None:
        self.rewrite = NOTHING
        self.on_match = on_match
        self.since = ledger.BEGINNING
        self.game = game
        self.end = ledger.read_end(game).newest
        self.is_append = False
        self.old = ledger.read_ratings(game)
        self.replay = Replay()
        self.rerated = 0
        self.outcomes = {}

    def changes(self) -> Iterator[Outcome]:
        for stored in ledger.read_history(self.game):
            outcome = self.replay.rate(stored.match)
            self.rerated += 1
            if self.on_match is not None:
                self.on_match()
            if not says(stored, outcome):
                yield outcome

    @property
    def standings(self) -> dict[int, Standing]:
        """The standing of everybody who has one or should have."""
        return dict.fromkeys(self.old, Standing()) | self.replay.standings

    def place(self, state: GameState) -> None:
        """Counts the board anew, so that the counts can be carried on, however wrong they were."""
        ledger.recount(state.game)
        state.engine = engine()


def rerate(
    state: GameState,
    rewrite: Rewrite = NOTHING,
    *,
    since: Position | None = None,
    end: End | None = None,
    on_match: OnMatch | None = None,
) -> Rerating:
    """Rates the game from the earliest position touched on, and stores it.

    With `since` it begins there, where nothing is rewritten or the rewrite begins later. The
    caller holds the game's lock.
    """
    if rewrite.is_empty and since is None:
        return NOTHING_RERATED
    run = Rerun(state.game, rewrite, since, end=end, on_match=on_match)
    for part in _parts(run.changes()):
        ledger.update_matches(part)
    run.place(state)
    ledger.write_ratings(state, run.standings, run.old)
    # Whoever works on a snapshot may have meant to place the same waiting matches.
    ledger.announce(state, is_rewrite=not run.is_append or bool(rewrite.waiting))
    return Rerating(run.outcomes, run.rerated)


type Plan = Callable[[GameState], Rewrite]
"""Reads what is to change in a game. Asked again where history was rewritten meanwhile."""

type Then = Callable[[GameState, Rewrite, Rerating], None]
"""Called for each game when its new history is written, in the same transaction."""


def rewrite_history(
    slugs: Collection[str],
    plan: Plan,
    *,
    most_rerated: int | None = None,
    then: Then | None = None,
    on_match: OnMatch | None = None,
) -> dict[str, Rerating]:
    """Changes the histories of games as planned, all or none; what was done to each that changed.

    What is short is done under the games' locks. Where more than so many matches of a game come
    after (MOST_RERATED), it is worked out without them (`rerate_from_snapshot`).
    """
    if most_rerated is None:
        most_rerated = MOST_RERATED
    with snapshot():
        rewrites = {state: plan(state) for state in ledger.read_states(slugs).values()}
        changed = {state: each for state, each in rewrites.items() if not each.is_empty}
        is_long = any(
            each.since < ledger.position_before_newest(state.game, most_rerated)
            for state, each in changed.items()
        )
    if is_long:
        return rerate_from_snapshot(slugs, plan, then=then, on_match=on_match)
    if not changed:
        return {}
    reratings = {}
    with transaction.atomic():
        for slug, state in ledger.lock_games(slugs).items():
            rewrite = plan(state)
            if not rewrite.is_empty:
                reratings[slug] = rerate(state, rewrite, on_match=on_match)
                if then is not None:
                    then(state, rewrite, reratings[slug])
    return reratings


def rerate_from_snapshot(
    slugs: Collection[str],
    plan: Plan,
    *,
    then: Then | None = None,
    on_match: OnMatch | None = None,
) -> dict[str, Rerating]:
    """Changes the histories of games, working it out without their locks.

    The long part runs on a snapshot and puts its results aside; then the games are locked, the
    results written, and what was appended meanwhile is rated again. So others wait for the
    writing only, readers see the old state or the new one, and a crash leaves the old. Where
    history was rewritten meanwhile it starts over, at last under the locks.
    """
    with ledger.stage() as staged:
        return write_staged(staged, slugs, plan, then=then, on_match=on_match)


def write_staged(
    staged: Staged,
    slugs: Collection[str],
    plan: Plan,
    *,
    first: Callable[[], None] | None = None,
    then: Then | None = None,
    on_match: OnMatch | None = None,
) -> dict[str, Rerating]:
    """The same, for new matches that are put aside already.

    `first` is called when the games are locked, before anything is written.
    """

    def begin(state: GameState) -> Rerun | None:
        rewrite = plan(state)
        return None if rewrite.is_empty else Rerun(state.game, rewrite, on_match=on_match)

    return _write_from_snapshot(staged, slugs, begin, first, then)


def append_staged(
    staged: Staged,
    *,
    first: Callable[[], None] | None = None,
    on_match: OnMatch | None = None,
) -> bool:
    """Rates and stores new matches that come after all that their games have; whether they do.

    The faster way for most files. Their rows go to the tables while they are rated, in one
    transaction that takes the locks only then: nobody sees them before it commits. False where
    some are older, or history was rewritten meanwhile, and nothing is stored.
    """
    slugs = staged.new.keys()
    try:
        with transaction.atomic():
            before = ledger.read_states(slugs)
            runs = {
                slug: Rerun(state.game, Rewrite(staged=staged.new[slug]), on_match=on_match)
                for slug, state in before.items()
            }
            # What the runs have read has to be of one moment.
            is_of_one_moment = not _differ(before, ledger.read_states(slugs), "version")
            if not (is_of_one_moment and all(run.is_append for run in runs.values())):
                raise _NotAppended
            for slug, run in runs.items():
                staged.new[slug].insert(run.changes())
            states = ledger.lock_games(slugs)
            if _differ(before, states, "rewrites"):
                raise _NotAppended
            _write_runs(states, runs, staged, first, None)
    except _NotAppended:
        return False
    return True


class _NotAppended(Exception):
    """The new matches do not all come after their games' histories, or not any longer."""


def _differ(some: Mapping[str, GameState], others: Mapping[str, GameState], field: str) -> bool:
    return any(getattr(some[slug], field) != getattr(others[slug], field) for slug in some)


def rerate_whole_game(slug: str, *, on_match: OnMatch | None = None) -> int:
    """Rates a game again from nothing, whatever is stored; how many matches it has.

    What heals every difference that `verify` finds but contradictions, and makes the numbers
    those of this machine. Worked out from a snapshot, as `rerate_from_snapshot`.
    """
    with ledger.stage() as staged:
        reratings = _write_from_snapshot(
            staged, [slug], lambda state: WholeRerun(state.game, on_match=on_match), None, None
        )
    return reratings[slug].rerated


def _write_from_snapshot(
    staged: Staged,
    slugs: Collection[str],
    begin: Callable[[GameState], Rerun | None],
    first: Callable[[], None] | None,
    then: Then | None,
) -> dict[str, Rerating]:
    for _ in range(TRIES):
        with snapshot():
            before = ledger.read_states(slugs)
            runs = _run(before, begin, staged)
        with transaction.atomic():
            states = ledger.lock_games(runs.keys())
            if not _differ(states, before, "rewrites"):
                return _write_runs(states, runs, staged, first, then)
        staged.forget_outcomes()
    with transaction.atomic():
        states = ledger.lock_games(slugs)
        return _write_runs(states, _run(states, begin, staged), staged, first, then)


def _run(
    states: Mapping[str, GameState],
    begin: Callable[[GameState], Rerun | None],
    staged: Staged,
) -> dict[str, Rerun]:
    """Works out the games that change, and puts the results aside."""
    runs = {}
    for slug, state in states.items():
        run = begin(state)
        if run is not None:
            runs[slug] = run
            for part in _parts(run.changes()):
                staged.add(part, run.rewrite.staged)
    return runs


def _write_runs(
    states: Mapping[str, GameState],
    runs: Mapping[str, Rerun],
    staged: Staged,
    first: Callable[[], None] | None,
    then: Then | None,
) -> dict[str, Rerating]:
    if not runs:
        return {}
    if first is not None:
        first()
    staged.write()
    reratings = {}
    for slug, run in runs.items():
        reratings[slug] = _write_run(states[slug], run)
        if then is not None:
            then(states[slug], run.rewrite, reratings[slug])
    return reratings


def _write_run(state: GameState, run: Rerun) -> Rerating:
    """Stores what a run on a snapshot found, and rates again what was appended since."""
    appended = ledger.first_appended(state.game, run.end)
    run.place(state)
    standings = run.standings
    now = ledger.read_ratings(state.game, standings.keys())
    ledger.write_ratings(
        state,
        {
            player: _carried_on(standing, run.old.get(player), now.get(player))
            for player, standing in standings.items()
        },
        now,
    )
    if appended is None:
        ledger.announce(state, is_rewrite=not run.is_append or bool(run.rewrite.waiting))
        return Rerating(run.outcomes, run.rerated)
    again = rerate(state, since=appended)
    return Rerating(run.outcomes, run.rerated + again.rerated)


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
    stored: Iterator[StoredMatch], placed: Iterable[PlayedMatch], staged: Iterator[PlayedMatch]
) -> Iterator[tuple[PlayedMatch, StoredMatch | None]]:
    """Stored matches and those to be placed, in the order of history; `staged` are in it."""
    return merge(
        ((kept.match, kept) for kept in stored),
        sorted(((match, None) for match in placed), key=_history_order),
        ((match, None) for match in staged),
        key=_history_order,
    )


def _history_order(item: tuple[PlayedMatch, StoredMatch | None]) -> tuple[Any, int]:
    return item[0].played_at, item[0].id


def says(stored: StoredMatch, outcome: Outcome) -> bool:
    """Whether the ledger says of a match what the replay says."""
    return (stored.status, stored.reason) == ledger.status_of(outcome.reason) and (
        list(stored.changes) == list(outcome.changes)
    )
