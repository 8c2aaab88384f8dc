"""A game's history as a file for anybody to replay; `replaying` reads it, and says what is in it.

Nothing in it is private: players are numbers that mean nothing outside the file, with the handle
beside where the site shows it, and no source, note, account or report is there.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import batched
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from ratings import ledger
from ratings.history import OnMatch
from ratings.ledger import ROWS_AT_A_TIME, StoredRating
from ratings.models import Game, GameState, Player, System
from ratings.models.player import WITHOUT_PROFILE
from ratings.replaying import FORMAT, FORMAT_VERSION, microseconds, rules
from ratings.snapshots import snapshot
from ratings.standings import Board, Kind
from ratings.systems.replay import Entry, PlayedMatch

UNFINISHED = ".unfinished"
SECONDS_TO_FINISH = 24 * 3600
"""What is unfinished for longer was left by a process that was killed."""

type Ranks = Mapping[tuple[str, str], Mapping[int, int]]
"""Ranks by shown number, of each system and kind."""


def path_of(game: Game) -> Path:
    """Where the game's download lies, or will."""
    return Path(settings.DOWNLOADS_FOLDER) / f"{game.slug}.jsonl.gz"


def write_download(
    game: Game, *, folder: Path | None = None, on_match: OnMatch | None = None
) -> Path:
    """Writes the game's download as of now, in place of the last one; where it lies.

    One snapshot, without a lock. Memory grows with the players, not with the matches. The old
    file stays whole until the new one is.
    """
    path = (folder or Path(settings.DOWNLOADS_FOLDER)) / path_of(game).name
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(path)
    with _replacing(path) as file, snapshot():
        state = GameState.objects.select_related("game").get(game=game)
        numbers = _number_players(game)
        _write(file, [_header(state, len(numbers))])
        _write(file, _matches(game, numbers, on_match))
        _write(file, _players(game, numbers))
    return path


def _header(state: GameState, players: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "game": state.game.slug,
        "version": state.version,
        "decayed_to": microseconds(state.decayed_to),
        "engine": state.engine,
        "idle_days": state.game.idle_days,
        "rules": rules(),
        "matches": ledger.count_history(state.game),
        "players": players,
    }


def _number_players(game: Game) -> dict[int, int]:
    """Numbers from 1 for all who are in the game's history, by player id.

    In the order of the ids, by which boards order a tie, and not the ids themselves: those are
    the same in every file.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT unnest(players) AS player FROM ratings_match
             WHERE game_id = %s AND status <> 'waiting' ORDER BY player
            """,
            [game.pk],
        )
        return {player: number for number, (player,) in enumerate(cursor, start=1)}


def _matches(
    game: Game, numbers: Mapping[int, int], on_match: OnMatch | None
) -> Iterator[dict[str, Any]]:
    for stored in ledger.read_history(game):
        if on_match is not None:
            on_match()
        yield _match(stored.match, numbers)


def _match(match: PlayedMatch, numbers: Mapping[int, int]) -> dict[str, Any]:
    record: dict[str, Any] = {"match": match.id, "at": microseconds(match.played_at)}
    if match.fact:
        record["fact"] = match.fact
    owners = _number_owners(match.entries)
    teams: dict[int, list[Entry]] = {}
    for entry in match.entries:
        teams.setdefault(entry.team, []).append(entry)
    record["teams"] = []
    for entries in teams.values():
        team: dict[str, Any] = {
            "place": entries[0].place,
            "players": [numbers[entry.player] for entry in entries],
        }
        if owners:
            team["owners"] = [owners.get(entry.owner) for entry in entries]
        record["teams"].append(team)
    return record


def _number_owners(entries: Sequence[Entry]) -> dict[Any, int]:
    """Numbers for the owners of this match, only where one of them has opponents in it.

    That is all a replay asks of them; whose the other players are is nobody's business.
    """
    teams: dict[Any, set[int]] = {}
    for entry in entries:
        if entry.owner is not None:
            teams.setdefault(entry.owner, set()).add(entry.team)
    shared = [owner for owner, in_teams in teams.items() if len(in_teams) > 1]
    return {owner: number for number, owner in enumerate(shared, start=1)}


def _players(game: Game, numbers: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    ranks: Ranks = {
        (system, kind): Board(game, system, kind).ranks()
        for system in System.values
        for kind in Kind.values
    }
    for ids in batched(numbers, ROWS_AT_A_TIME):
        ratings = ledger.read_ratings(game, ids)
        players = Player.objects.filter(pk__in=ids).order_by("pk")
        for player in players.only("handle", "is_bot", "status"):
            record: dict[str, Any] = {
                "player": numbers[player.pk],
                "kind": "bot" if player.is_bot else "person",
            }
            if player.status not in WITHOUT_PROFILE:
                record["handle"] = player.handle
            if player.pk in ratings:
                record["rating"] = _rating(ratings[player.pk], ranks)
            yield record


def _rating(stored: StoredRating, ranks: Ranks) -> dict[str, Any]:
    standing = stored.standing
    record: dict[str, Any] = {
        "elo": standing.elo,
        "mu": standing.mu,
        "sigma_settled": standing.sigma,
        "sigma": stored.sigma,
        "won": standing.won,
        "drawn": standing.drawn,
        "lost": standing.lost,
        "peak_elo": standing.peak_elo,
        "peak_at": standing.peak_at and microseconds(standing.peak_at),
        "last_played_at": standing.last_played_at and microseconds(standing.last_played_at),
        "listed": stored.is_listed,
    }
    if stored.is_listed:
        kind = Kind.BOTS if stored.is_bot else Kind.PEOPLE
        record["ranks"] = {
            system: {
                "all": ranks[system, Kind.EVERYONE][shown],
                "kind": ranks[system, kind][shown],
            }
            for system, shown in (
                (System.ELO, stored.elo_shown),
                (System.OPENSKILL, stored.openskill_shown),
            )
        }
    return record


def _write(file: gzip.GzipFile, records: Iterable[dict[str, Any]]) -> None:
    for record in records:
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        file.write(line.encode() + b"\n")


@contextmanager
def _replacing(path: Path) -> Iterator[gzip.GzipFile]:
    """A compressed file that takes the place of `path` when the block ends well, else none."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=UNFINISHED)
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as raw:
            # Without the time in it, the same history makes the same file.
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        unfinished.chmod(0o644)  # the site may run as another user than the worker
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_unfinished(path: Path) -> None:
    for left in path.parent.glob(f"{path.name}.*{UNFINISHED}"):
        with suppress(FileNotFoundError):  # finished or removed by another process just now
            if left.stat().st_mtime < time.time() - SECONDS_TO_FINISH:
                left.unlink()
