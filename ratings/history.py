"""The one way to rewrite history, and the proof that what is stored equals its replay.

A match that belongs earlier than the newest one of its game re-rates the game from there on, as
if it had been known in time. A match at the end is the same thing with nothing after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from math import isclose
from typing import Any

from ratings import ledger
from ratings.ledger import NewMatch, Position, StoredMatch, StoredRating
from ratings.models import Game, GameState
from ratings.snapshots import snapshot
from ratings.systems import decay
from ratings.systems.engine import engine
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import (
    Change,
    Outcome,
    PlayedMatch,
    Replay,
    Standing,
    count_result,
)

MOST_DIFFERENCES = 20
"""So many differences `verify` describes; it counts all of them."""

OTHER_ENGINE_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Rerating:
    """What a re-rating did. `outcomes` holds those of the new matches, by match id."""

    outcomes: Mapping[int, Outcome]
    rerated: int


def rerate(state: GameState, *, since: Position, new: Sequence[NewMatch] = ()) -> Rerating:
    """Rates the game from a position on, with new matches in their places, and stores it.

    The caller holds the game's lock. Reads and writes what lies behind the position: memory and
    time grow with that, not with the history before it.
    """
    game = state.game
    newest = ledger.newest_position(game)
    is_append = newest is None or since > newest
    player_sets = {_players(stored.match) for stored in new}
    if not is_append:
        player_sets |= ledger.read_player_sets_since(game, since)
    players = {player for together in player_sets for player in together}

    old = ledger.read_ratings(game, players)
    standings = _standings_before(game, since, old, is_append=is_append)
    replay = Replay(standings, ledger.read_recent(game, since, player_sets))

    added: dict[int, Outcome] = {}
    changed: list[Outcome] = []
    rerated = 0
    stored_history = iter(()) if is_append else ledger.read_history(game, since)
    for match, stored in _in_order(stored_history, new):
        if stored is not None and stored.changes:
            # The standings still count what the ledger said before.
            count_result(replay.standings, match.entries, -1)
        outcome = replay.rate(match)
        if stored is None:
            added[match.id] = outcome
            continue
        rerated += 1
        if not _says(stored, outcome):
            changed.append(outcome)
            if len(changed) >= ledger.ROWS_AT_A_TIME:
                ledger.update_matches(changed)
                changed.clear()
    ledger.update_matches(changed)
    ledger.insert_matches(game, new, added)
    ledger.write_ratings(
        state,
        {
            player: standing
            for player, standing in replay.standings.items()
            if player not in old or standing != old[player].standing
        },
        old,
    )
    ledger.announce(state)
    return Rerating(added, rerated)


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
    stored: Iterator[StoredMatch], new: Sequence[NewMatch]
) -> Iterator[tuple[PlayedMatch, StoredMatch | None]]:
    """Stored and new matches in the order of history."""
    return merge(
        ((kept.match, kept) for kept in stored),
        sorted(((added.match, None) for added in new), key=_history_order),
        key=_history_order,
    )


def _history_order(item: tuple[PlayedMatch, StoredMatch | None]) -> tuple[Any, int]:
    return item[0].played_at, item[0].id


def _says(stored: StoredMatch, outcome: Outcome) -> bool:
    """Whether the ledger says of a match what the replay says."""
    return (stored.status, stored.reason) == ledger.status_of(outcome.reason) and (
        list(stored.changes) == list(outcome.changes)
    )


# Verification


@dataclass(slots=True)
class Verification:
    """What a replay of the whole history found: the first differences, and how many there are.

    `exact` tells whether numbers were compared bit for bit, or to 1e-9 because another machine's
    mathematics library computed the stored ones.
    """

    matches: int = 0
    players: int = 0
    exact: bool = True
    differences: list[str] = field(default_factory=list)
    count: int = 0

    @property
    def is_clean(self) -> bool:
        return self.count == 0

    def add(self, difference: str) -> None:
        self.count += 1
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(difference)


def verify(game: Game) -> Verification:
    """Replays the game from empty and compares every stored number with what comes out.

    Reads one snapshot and takes no lock. Streams: memory grows with the players, not with the
    matches.
    """
    with snapshot():
        state = GameState.objects.select_related("game").get(game=game)
        found = Verification(exact=state.engine in ("", engine()))
        replay = Replay()
        for stored in ledger.read_history(game):
            found.matches += 1
            if len({entry.team for entry in stored.match.entries}) < 2:
                continue  # cannot be rated; named among the contradictions below
            outcome = replay.rate(stored.match)
            if not _says(stored, outcome):
                _compare_match(found, stored, outcome)
        found.players = len(replay.standings)
        for difference in ledger.read_contradictions(game):
            found.add(difference)
        _compare_ratings(found, state, replay.standings)
        for difference in ledger.read_wrong_counts(game):
            found.add(difference)
        for difference in ledger.read_wrong_segments(game):
            found.add(difference)
    return found


def _compare_match(found: Verification, stored: StoredMatch, outcome: Outcome) -> None:
    where = f"match {stored.match.id}"
    expected = ledger.status_of(outcome.reason)
    if (stored.status, stored.reason) != expected:
        found.add(
            f"{where}: stored as {_words(stored.status, stored.reason)}, "
            f"the replay says {_words(*expected)}"
        )
    old = {change.player: change for change in stored.changes}
    new = {change.player: change for change in outcome.changes}
    for player in sorted(old.keys() | new.keys()):
        if player not in old or player not in new:
            side = "has no ratings" if player not in old else "has ratings and should not"
            found.add(f"{where}, player {player}: {side}")
            continue
        for name, was, is_now in zip(
            ledger.SKILL_COLUMNS, _numbers(old[player]), _numbers(new[player]), strict=True
        ):
            _compare(found, f"{where}, player {player}: {name}", was, is_now)


def _numbers(change: Change) -> tuple[float, ...]:
    return (*change.before, *change.after)


def _words(status: str, reason: str) -> str:
    return f"{status} ({reason})" if reason else status


def _compare_ratings(
    found: Verification, state: GameState, standings: Mapping[int, Standing]
) -> None:
    ratings = ledger.read_ratings(state.game)
    facts = ledger.read_listing_facts(ratings.keys() | standings.keys())
    for player in sorted(ratings.keys() | standings.keys()):
        where = f"rating of player {player}"
        if player not in ratings:
            found.add(f"{where}: missing")
            continue
        stored = ratings[player]
        standing = standings.get(player)
        if standing is None or standing.last_played_at is None:
            found.add(f"{where}: stored without a rated match")
            continue
        is_bot, is_active = facts[player]
        sigma = decay.sigma_at(standing.sigma, standing.last_played_at, state.decayed_to)
        # What is shown has to follow from what is stored: the database computes it. Compared with
        # the replay, a difference far below the tolerance could tip a half over.
        elo_shown = round(stored.standing.elo)
        openskill_shown = round(displayed_rating(stored.standing.mu, stored.sigma))
        expected = {
            "elo": (stored.standing.elo, standing.elo),
            "mu": (stored.standing.mu, standing.mu),
            "sigma_settled": (stored.standing.sigma, standing.sigma),
            "sigma": (stored.sigma, sigma),
            "elo_shown": (stored.elo_shown, elo_shown),
            "openskill_shown": (stored.openskill_shown, openskill_shown),
            "won": (stored.standing.won, standing.won),
            "drawn": (stored.standing.drawn, standing.drawn),
            "lost": (stored.standing.lost, standing.lost),
            "peak_elo": (stored.standing.peak_elo, standing.peak_elo),
            "peak_at": (stored.standing.peak_at, standing.peak_at),
            "last_played_at": (stored.standing.last_played_at, standing.last_played_at),
            "is_bot": (stored.is_bot, is_bot),
            "is_listed": (
                stored.is_listed,
                is_active and ledger.is_recent(state, standing.last_played_at),
            ),
        }
        for name, (was, is_now) in expected.items():
            _compare(found, f"{where}: {name}", was, is_now)


def _compare(found: Verification, what: str, was: Any, is_now: Any) -> None:
    if was == is_now:
        return
    if (
        not found.exact
        and isinstance(was, float)
        and isclose(was, is_now, rel_tol=0, abs_tol=OTHER_ENGINE_TOLERANCE)
    ):
        return
    found.add(f"{what} is {was}, the replay gives {is_now}")


def rerate_from_start(state: GameState) -> int:
    """Rates the whole game again from nothing, whatever is stored; how many matches it has.

    What heals every difference that `verify` finds but contradictions, and makes the numbers
    those of this machine. Under the lock that the caller holds.
    """
    replay = Replay()
    changed: list[Outcome] = []
    matches = 0
    for stored in ledger.read_history(state.game):
        outcome = replay.rate(stored.match)
        matches += 1
        if not _says(stored, outcome):
            changed.append(outcome)
            if len(changed) >= ledger.ROWS_AT_A_TIME:
                ledger.update_matches(changed)
                changed.clear()
    ledger.update_matches(changed)
    ledger.recount(state.game)  # so that the counts can be carried on, however wrong they were
    old = ledger.read_ratings(state.game)
    ledger.write_ratings(state, dict.fromkeys(old, Standing()) | replay.standings, old)
    state.engine = engine()
    ledger.announce(state)
    return matches
