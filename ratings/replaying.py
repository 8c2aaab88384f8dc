"""A game's download, replayed from the file alone: no database, no settings, no Django.

The file is JSONL, compressed by gzip or not. Its first line names the game, the version of its
history and every rule; then come the matches in the order of history, and then the players with
what Naiply has stored of them, which has to follow from the matches.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import nsmallest
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from ratings.systems import decay, elo, openskill
from ratings.systems.replay import (
    CANCELLED,
    FRIENDLY,
    PAIR_LIMIT,
    PAIR_WINDOW,
    VOID,
    Entry,
    PlayedMatch,
    Replay,
    Standing,
)

FORMAT = "naiply-history"
FORMAT_VERSION = 1
TOLERANCE = 1e-6
"""How near a replay has to come: other machines' mathematics libraries differ below it."""

MOST_DIFFERENCES = 20
TOP = 10
LONGEST_LINE = 65_536
LONGEST_REFUSAL = 200

FACTS = ("", VOID, CANCELLED, FRIENDLY)
SYSTEMS = ("elo", "openskill")
KINDS = ("all", "kind")
"""A rank among all, and one among the people or the bots."""

_WORDS = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a whole number",
    list: "a list",
    str: "a text",
    type(None): "null",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

type Progress = Callable[[int, int], None]
"""Called now and then with the matches done and the matches in all."""


class UnusableDownload(ValueError):
    """The file is no download that can be replayed here. The text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a download. `idle_days` is None where nobody leaves the board."""

    game: str
    version: int
    decayed_to: datetime
    engine: str
    idle_days: int | None
    matches: int
    players: int

    @property
    def listed_since(self) -> datetime | None:
        """Whose last rated match is older is on no board."""
        if self.idle_days is None:
            return None
        try:
            return self.decayed_to - timedelta(days=self.idle_days)
        except OverflowError:
            return None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A line of the recomputed board. `handle` is empty where the file does not tell it."""

    rank: int
    handle: str
    elo: float
    openskill: float


@dataclass(slots=True)
class Replayed:
    """What a replay of the file came to: the head of the Elo board, and what differs.

    `differences` holds the first of them, in words; `count` counts all.
    """

    header: Header
    board: Sequence[BoardRow] = ()
    differences: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, difference: str) -> None:
        self.count += 1
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(difference)


def rules() -> dict[str, Any]:
    """Every number that the ratings follow from, as the first line of a download has them."""
    return {
        "elo": asdict(elo.PARAMETERS),
        "openskill": asdict(openskill.PARAMETERS),
        "displayed": {
            "start": openskill.DISPLAY_START,
            "scale": openskill.DISPLAY_SCALE,
            "sigmas": openskill.DISPLAY_SIGMAS,
        },
        "decay": {"grace_days": decay.GRACE // timedelta(days=1), "weekly_step": decay.STEP},
        "pair_limit": {"matches": PAIR_LIMIT, "hours": PAIR_WINDOW // timedelta(hours=1)},
    }


def microseconds(moment: datetime) -> int:
    """A moment as downloads write it: microseconds since 1970 in UTC."""
    return (moment - _EPOCH) // _MICROSECOND


def replay_download(path: Path, *, progress: Progress | None = None) -> Replayed:
    """Replays a download and compares what it says of its players with what comes out.

    Memory grows with the players, not with the matches. UnusableDownload where it is no download,
    is cut off or contradicts itself, or follows other rules; OSError where it cannot be opened.
    """
    lines = _Lines(path)
    header = _read_header(lines)
    replay = Replay()
    last = (0, 0)
    for done in range(header.matches):
        match = _read_match(lines, header)
        position = (microseconds(match.played_at), match.id)
        if done and position <= last:
            lines.refuse(f"match {match.id} does not come after the one before it")
        last = position
        replay.rate(match)
        if progress is not None and done % 1000 == 0:
            progress(done, header.matches)
    replayed = Replayed(header)
    listed = []
    for number in range(1, header.players + 1):
        player = _read_player(lines, number)
        standing = replay.standings.pop(number, None)
        row = _compare(replayed, player, standing)
        if row is not None:
            listed.append(row)
    lines.expect_end()
    _compare_ranks(replayed, listed)
    replayed.board = _board(listed)
    return replayed


# Reading


class _Lines:
    """The lines of the file, one JSON object each."""

    def __init__(self, path: Path) -> None:
        self.number = 0
        self._lines = self._read(path)

    def _read(self, path: Path) -> Iterator[bytes]:
        with path.open("rb") as raw:
            is_gzip = raw.peek(2)[:2] == b"\x1f\x8b"
            with gzip.open(raw) if is_gzip else raw as file:
                while line := file.readline(LONGEST_LINE + 1):
                    yield line

    def refuse(self, why: str) -> NoReturn:
        # The file may hold anything, and a terminal would act on some of it.
        shown = "".join(c if c.isprintable() else "?" for c in why[:LONGEST_REFUSAL])
        raise UnusableDownload(f"Line {self.number}: {shown}.")

    def next(self) -> dict[str, Any]:
        line = self._next_line()
        if line is None:
            self.refuse("the file ends here, and should not: it is cut off")
        try:
            record = json.loads(line, parse_constant=self._refuse_constant)
        except (ValueError, RecursionError):
            self.refuse("this is not JSON, or it is cut off")
        if not isinstance(record, dict):
            self.refuse("a JSON object is needed here")
        return record

    def expect_end(self) -> None:
        if self._next_line() is not None:
            self.refuse("the file should have ended before this line")

    def _next_line(self) -> bytes | None:
        self.number += 1
        try:
            line = next(self._lines, None)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            self.refuse("the compressed file is damaged or cut off")
        if line is not None and len(line) > LONGEST_LINE:
            self.refuse("this is longer than any line of a download")
        return line

    def _refuse_constant(self, constant: str) -> NoReturn:
        raise ValueError(constant)

    def take(self, record: Mapping[str, Any], name: str, *types: type) -> Any:
        """The value of a field; of one of these types exactly, since True is an int as well."""
        value = record.get(name)
        if type(value) not in types or (type(value) is float and not isfinite(value)):
            wanted = " or ".join(_WORDS[kind] for kind in types)
            self.refuse(f'"{name}" has to be {wanted}')
        return value

    def take_number(self, record: Mapping[str, Any], name: str) -> float:
        try:
            return float(self.take(record, name, float, int))
        except OverflowError:
            self.refuse(f'"{name}" is no number that a rating can have')

    def take_text(self, record: Mapping[str, Any], name: str) -> str:
        text: str = self.take(record, name, str)
        if not text.isprintable():
            self.refuse(f'"{name}" holds characters that cannot be shown')
        return text

    def take_count(self, record: Mapping[str, Any], name: str) -> int:
        value: int = self.take(record, name, int)
        if value < 0:
            self.refuse(f'"{name}" is {value}, which is less than nothing')
        return value

    def take_moment(self, record: Mapping[str, Any], name: str) -> datetime:
        value: int = self.take(record, name, int)
        try:
            return _EPOCH + value * _MICROSECOND
        except OverflowError:
            self.refuse(f'"{name}" is {value}, which is no moment')


def _read_header(lines: _Lines) -> Header:
    record = lines.next()
    if record.get("format") != FORMAT:
        lines.refuse("this is not a download of Naiply's history")
    if record.get("format_version") != FORMAT_VERSION:
        lines.refuse(
            f"its format is {record.get('format_version')!r}, this program reads {FORMAT_VERSION}"
        )
    _check_rules(lines, lines.take(record, "rules", dict))
    return Header(
        game=lines.take_text(record, "game"),
        version=lines.take_count(record, "version"),
        decayed_to=lines.take_moment(record, "decayed_to"),
        engine=lines.take_text(record, "engine"),
        idle_days=lines.take(record, "idle_days", int, type(None)),
        matches=lines.take_count(record, "matches"),
        players=lines.take_count(record, "players"),
    )


def _check_rules(lines: _Lines, theirs: Mapping[str, Any]) -> None:
    ours = rules()
    for group in sorted(ours.keys() | theirs.keys()):
        our_values, their_values = ours.get(group), theirs.get(group)
        if our_values == their_values:
            continue
        if not isinstance(our_values, dict) or not isinstance(their_values, dict):
            lines.refuse(f"its rules have another {group} than this program")
        for name in sorted(our_values.keys() | their_values.keys()):
            if our_values.get(name) != their_values.get(name):
                lines.refuse(
                    f"it follows other rules, {group} {name} is {their_values.get(name)!r} "
                    f"and {our_values.get(name)!r} in this program"
                )


def _read_match(lines: _Lines, header: Header) -> PlayedMatch:
    record = lines.next()
    match_id = lines.take_count(record, "match")
    fact = record.get("fact", "")
    if fact not in FACTS:
        lines.refuse(f'"fact" is {fact!r}, one of {", ".join(filter(None, FACTS))} or none')
    entries: list[Entry] = []
    teams = lines.take(record, "teams", list)
    for number, team in enumerate(teams, start=1):
        if not isinstance(team, dict):
            lines.refuse("a team has to be a JSON object")
        place = lines.take_count(team, "place")
        players = lines.take(team, "players", list)
        owners = team.get("owners", [None] * len(players))
        if not players or not isinstance(owners, list) or len(owners) != len(players):
            lines.refuse(f"team {number} has no players, or not one owner for each")
        for player, owner in zip(players, owners, strict=True):
            if type(player) is not int or not 1 <= player <= header.players:
                lines.refuse(f"there is no player {player!r}")
            if type(owner) not in (int, type(None)):
                lines.refuse("an owner has to be a number or null")
            entries.append(Entry(player, number, place, owner))
        if place < 1:
            lines.refuse(f"unexpected place {place}: places start at 1")
    if len(teams) < 2:
        lines.refuse("a match needs two teams or more")
    if len({entry.player for entry in entries}) < len(entries):
        lines.refuse("a player is repeated: nobody plays twice in a match")
    return PlayedMatch(lines.take_moment(record, "at"), entries, fact, match_id)


@dataclass(frozen=True, slots=True)
class _Player:
    """A player's line: what is stored of him, None without a rating."""

    number: int
    handle: str
    is_bot: bool
    rating: _Rating | None

    @property
    def name(self) -> str:
        return self.handle or f"player {self.number}"


@dataclass(frozen=True, slots=True)
class _Rating:
    standing: Standing
    sigma: float
    is_listed: bool
    ranks: Mapping[tuple[str, str], int]


def _read_player(lines: _Lines, expected: int) -> _Player:
    record = lines.next()
    number = lines.take_count(record, "player")
    if number != expected:
        lines.refuse(f"player {number} stands where player {expected} should")
    kind = lines.take(record, "kind", str)
    if kind not in ("person", "bot"):
        lines.refuse(f'"kind" is {kind!r}, and has to be person or bot')
    handle = lines.take_text(record, "handle") if "handle" in record else ""
    rating = None
    if "rating" in record:
        rating = _read_rating(lines, lines.take(record, "rating", dict))
    return _Player(number, handle, kind == "bot", rating)


def _read_rating(lines: _Lines, record: Mapping[str, Any]) -> _Rating:
    standing = Standing(
        elo=lines.take_number(record, "elo"),
        mu=lines.take_number(record, "mu"),
        sigma=lines.take_number(record, "sigma_settled"),
        last_played_at=lines.take_moment(record, "last_played_at"),
        won=lines.take_count(record, "won"),
        drawn=lines.take_count(record, "drawn"),
        lost=lines.take_count(record, "lost"),
        peak_elo=lines.take_number(record, "peak_elo"),
        peak_at=lines.take_moment(record, "peak_at"),
    )
    is_listed = lines.take(record, "listed", bool)
    ranks: dict[tuple[str, str], int] = {}
    if is_listed:
        by_system = lines.take(record, "ranks", dict)
        for system in SYSTEMS:
            in_system = lines.take(by_system, system, dict)
            ranks |= {(system, kind): lines.take_count(in_system, kind) for kind in KINDS}
    return _Rating(standing, lines.take_number(record, "sigma"), is_listed, ranks)


# Comparing


@dataclass(frozen=True, slots=True)
class _Listed:
    """Somebody on the board: what the file says he shows there, and what the replay gives.

    `ranks` and `shown` are the file's, by (system, kind) and by system.
    """

    player: _Player
    ranks: Mapping[tuple[str, str], int]
    shown: Mapping[str, int]
    elo: float
    openskill: float

    def group(self, kind: str) -> str:
        if kind == "all":
            return kind
        return "bots" if self.player.is_bot else "people"


def _compare(replayed: Replayed, player: _Player, standing: Standing | None) -> _Listed | None:
    """Notes what differs of one player; what the board shows of him, if it does."""
    header, rating = replayed.header, player.rating
    if standing is None or standing.last_played_at is None:
        if rating is not None:
            replayed.add(f"{player.name}: has a rating, and the replay gives none")
        return None
    if rating is None:
        replayed.add(f"{player.name}: has no rating, and the replay gives one")
        return None
    stored = rating.standing
    sigma = decay.sigma_at(standing.sigma, standing.last_played_at, header.decayed_to)
    for name, was, is_now in (
        ("elo", stored.elo, standing.elo),
        ("mu", stored.mu, standing.mu),
        ("sigma_settled", stored.sigma, standing.sigma),
        ("sigma", rating.sigma, sigma),
        ("peak_elo", stored.peak_elo, standing.peak_elo),
    ):
        if abs(was - is_now) > TOLERANCE:
            replayed.add(f"{player.name}: {name} is {was}, the replay gives {is_now}")
    # Not peak_at: of two peaks that are equal to the last bits, another machine may take another.
    for fact in ("won", "drawn", "lost", "last_played_at"):
        if getattr(stored, fact) != getattr(standing, fact):
            replayed.add(
                f"{player.name}: {fact} is {getattr(stored, fact)}, "
                f"the replay gives {getattr(standing, fact)}"
            )
    if not rating.is_listed:
        return None
    since = header.listed_since
    if since is not None and standing.last_played_at < since:
        replayed.add(f"{player.name}: is on the board, and last played before {since}")
    displayed = openskill.displayed_rating
    return _Listed(
        player,
        rating.ranks,
        {"elo": round(stored.elo), "openskill": round(displayed(stored.mu, rating.sigma))},
        standing.elo,
        displayed(standing.mu, sigma),
    )


def _compare_ranks(replayed: Replayed, listed: Sequence[_Listed]) -> None:
    """Notes ranks that do not follow from the numbers beside them in the file.

    From those and not from the replay's: that may round a half to the other side.
    """
    for system in SYSTEMS:
        for kind in KINDS:
            counts = Counter((row.group(kind), row.shown[system]) for row in listed)
            ranks = _ranks(counts)
            for row in listed:
                was = row.ranks[system, kind]
                is_now = ranks[row.group(kind), row.shown[system]]
                if was != is_now:
                    replayed.add(
                        f"{row.player.name}: rank by {system} among {row.group(kind)} is {was}, "
                        f"counting gives {is_now}"
                    )


def _ranks(counts: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Competition ranks: one more than stand above, within each group."""
    ranks = {}
    above: Counter[str] = Counter()
    for (group, shown), count in sorted(counts.items(), key=lambda item: -item[0][1]):
        ranks[group, shown] = 1 + above[group]
        above[group] += count
    return ranks


def _board(listed: Sequence[_Listed]) -> list[BoardRow]:
    """The head of the recomputed Elo board."""
    first = nsmallest(TOP, listed, key=lambda row: (-round(row.elo), -row.elo, row.player.number))
    ranks = _ranks(Counter(("all", round(row.elo)) for row in listed))
    return [
        BoardRow(ranks["all", round(row.elo)], row.player.handle, row.elo, row.openskill)
        for row in first
    ]
