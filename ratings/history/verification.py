"""The proof that what is stored equals the replay of the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isclose
from typing import Any

from ratings import ledger
from ratings.history.rerating import OnMatch, says
from ratings.ledger import StoredMatch
from ratings.models import Game, GameState, VerifyRun
from ratings.snapshots import snapshot
from ratings.systems import decay
from ratings.systems.engine import engine
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import Change, Outcome, Replay, Standing

MOST_DIFFERENCES = 20
"""So many differences `verify` describes; it counts all of them."""

OTHER_ENGINE_TOLERANCE = 1e-9


@dataclass(slots=True)
class Verification:
    """What a replay of the whole history found: the first differences, and how many there are.

    `exact` tells whether numbers were compared bit for bit, or to 1e-9 because another machine's
    mathematics library computed the stored ones. `version` is the game's, as it was read.
    """

    version: int = 0
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


def verify(game: Game, *, on_match: OnMatch | None = None) -> Verification:
    """Replays the game from empty and compares every stored number with what comes out.

    Reads one snapshot and takes no lock. Streams: memory grows with the players, not with the
    matches.
    """
    with snapshot():
        state = GameState.objects.select_related("game").get(game=game)
        found = Verification(state.version, exact=state.engine in ("", engine()))
        replay = Replay()
        for stored in ledger.read_history(game):
            found.matches += 1
            if on_match is not None:
                on_match()
            if len({entry.team for entry in stored.match.entries}) < 2:
                continue  # cannot be rated; named among the contradictions below
            outcome = replay.rate(stored.match)
            if not says(stored, outcome):
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


def run_verification(game: Game, *, on_match: OnMatch | None = None) -> VerifyRun:
    """Verifies the game, and keeps what was found for the page that shows it."""
    started_at = datetime.now(UTC)
    found = verify(game, on_match=on_match)
    return VerifyRun.objects.create(
        game=game,
        version=found.version,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        engine=engine(),
        is_exact=found.exact,
        matches=found.matches,
        players=found.players,
        difference_count=found.count,
        differences=found.differences,
    )


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
