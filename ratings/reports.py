"""A match report as a source sends it: its fields, and what is refused whoever asks.

The API body, each line of a JSONL import and a CSV import's rows all become a `Report` here.
What depends on the database (game, players, repeated ids) is checked by `recording`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NoReturn

from django.utils.translation import gettext as _

from ratings.models import Termination
from ratings.names import clean_player_id, fold

EXTERNAL_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
LARGEST_PLACE = 1_000_000
LARGEST_POINTS = Decimal("9999999.99")
EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)
"""Far enough from the first year for zones and windows to be subtracted."""
MOST_PROBLEMS = 20
"""So many a source is told of: each of a hundred thousand wrong teams would have its own."""
_LARGEST_WHOLE_POINTS = int(LARGEST_POINTS)

_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_FIELDS = frozenset({"game", "external_id", "played_at", "termination", "teams"})
_TEAM_FIELDS = frozenset({"players", "place", "points"})
_TERMINATIONS = frozenset(Termination.values)
_NORMAL = Termination.NORMAL.value


class ReportError(ValueError):
    """A report that cannot be accepted. `problems` are sentences, in the reader's language."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(self.problems))


@dataclass(frozen=True, slots=True)
class ReportedTeam:
    players: tuple[str, ...]
    place: int
    points: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """`players` are the source's own ids; `played_at` is in UTC, None where it was absent."""

    game: str
    external_id: str
    teams: tuple[ReportedTeam, ...]
    played_at: datetime | None = None
    termination: str = _NORMAL

    @property
    def players(self) -> list[str]:
        return [player for team in self.teams for player in team.players]


def load_json(text: str) -> Any:
    """The JSON value, without Python's leniences: ReportError for NaN and for repeated keys.

    Numbers with a decimal point come as Decimal.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ReportError([_("This is not a match report: it is nested too deep.")]) from None
    except ReportError:
        raise
    except json.JSONDecodeError as error:
        raise ReportError(
            [
                _("This is not JSON: %(error)s at character %(position)d.")
                % {"error": error.msg, "position": error.pos + 1}
            ]
        ) from None
    except ValueError:  # thousands of digits, which Python does not even try to convert
        raise ReportError([_("This is not a match report: a number in it is too long.")]) from None


def parse_report(data: Any, *, bare_dates: bool = False) -> Report:
    """The report in decoded JSON. ReportError names every field that is wrong.

    `bare_dates` lets a date without a time stand for 00:00 UTC, as imports do.
    """
    if not isinstance(data, dict):
        raise ReportError(
            [_("Unexpected %(value)s: a match report is an object.") % {"value": _shown(data)}]
        )
    problems: list[str] = []
    if not data.keys() <= _FIELDS:
        problems.extend(
            _('Unknown field "%(field)s".') % {"field": printable(field)}
            for field in data
            if field not in _FIELDS
        )
    game = data.get("game")
    # What cannot be printed (NUL, half a surrogate pair) cannot be asked of the database either.
    if not isinstance(game, str) or not game or not game.isprintable():
        problems.append(
            _("Unexpected game %(value)s: name a game, such as brisca.") % {"value": _shown(game)}
        )
    external_id = data.get("external_id")
    if not isinstance(external_id, str) or not EXTERNAL_ID.fullmatch(external_id):
        problems.append(
            _(
                "Unexpected external_id %(value)s: 1 to 128 letters without accents, digits, "
                ". _ : or - are needed."
            )
            % {"value": _shown(external_id)}
        )
    termination = data.get("termination", _NORMAL)
    if not isinstance(termination, str) or termination not in _TERMINATIONS:
        problems.append(
            _("Unexpected termination %(value)s: one of %(choices)s is needed.")
            % {"value": _shown(termination), "choices": ", ".join(Termination.values)}
        )
    played_at = None
    if data.get("played_at") is not None:
        try:
            played_at = parse_instant(data["played_at"], bare_dates=bare_dates)
        except ValueError as error:
            problems.append(str(error))
    teams = _parse_teams(data.get("teams"), problems)
    if problems:
        raise ReportError(problems[:MOST_PROBLEMS])
    return Report(game, external_id, teams, played_at, termination)


def parse_instant(value: Any, *, bare_dates: bool = False) -> datetime:
    """The moment in UTC. ValueError unless it is ISO 8601 with an offset."""
    moment = _read_instant(value, bare_dates=bare_dates)
    if moment is None:
        raise ValueError(
            _(
                "Unexpected played_at %(value)s: a date and time with an offset is needed, "
                "such as 2026-11-29T18:00:00Z."
            )
            % {"value": _shown(value)}
        )
    if moment.tzinfo is None:
        raise ValueError(
            _("Unexpected played_at %(value)s: it needs an offset, such as Z or +02:00.")
            % {"value": _shown(value)}
        )
    if moment < EARLIEST:
        raise ValueError(
            _("Unexpected played_at %(value)s: the earliest year is %(year)d.")
            % {"value": _shown(value), "year": EARLIEST.year}
        )
    return moment


def _read_instant(value: Any, *, bare_dates: bool) -> datetime | None:
    """The moment in UTC, without a zone where it has no offset; None where it is no moment."""
    if not isinstance(value, str):
        return None
    try:
        if match := _INSTANT.fullmatch(value):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if match[1] and moment.tzinfo is not UTC else moment
        if bare_dates and _DATE.fullmatch(value):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    return None


def _parse_teams(data: Any, problems: list[str]) -> tuple[ReportedTeam, ...]:
    if not isinstance(data, list) or len(data) < 2:
        problems.append(
            _("Unexpected teams %(value)s: a list of two or more teams is needed.")
            % {"value": _shown(data)}
        )
        return ()
    teams = []
    seen: dict[str, str] = {}
    for number, team in enumerate(data, start=1):
        if not isinstance(team, dict):
            problems.append(
                _("Unexpected team %(value)s: a team is an object with players and a place.")
                % {"value": _shown(team)}
            )
            continue
        if not team.keys() <= _TEAM_FIELDS:
            problems.extend(
                _('Unknown field "%(field)s" in team %(number)d.')
                % {"field": printable(field), "number": number}
                for field in team
                if field not in _TEAM_FIELDS
            )
        players = _parse_players(team.get("players"), number, seen, problems)
        place = team.get("place")
        # bool is a kind of int; 1.5 would be rated as if it were a draw with 1.
        if type(place) is not int or not 1 <= place <= LARGEST_PLACE:
            problems.append(
                _("Unexpected place %(value)s for team %(number)d: places are whole, from 1.")
                % {"value": _shown(place), "number": number}
            )
            place = 1
        try:
            points = parse_points(team.get("points"))
        except ValueError as error:
            problems.append(str(error))
            points = None
        teams.append(ReportedTeam(players, place, points))
    return tuple(teams)


def _parse_players(
    data: Any, number: int, seen: dict[str, str], problems: list[str]
) -> tuple[str, ...]:
    if not isinstance(data, list) or not data:
        problems.append(
            _("Unexpected players %(value)s in team %(number)d: a list of ids is needed.")
            % {"value": _shown(data), "number": number}
        )
        return ()
    players = []
    for value in data:
        if not isinstance(value, str):
            problems.append(
                _("Unexpected player %(value)s in team %(number)d: an id is a text.")
                % {"value": _shown(value), "number": number}
            )
            continue
        try:
            player = clean_player_id(value)
        except ValueError as error:
            problems.append(str(error))
            continue
        key = fold(player)
        if key in seen:
            problems.append(
                _('Player "%(player)s" is repeated: nobody plays twice in a match.')
                % {"player": player}
            )
        seen[key] = player
        players.append(player)
    return tuple(players)


def parse_points(value: Any) -> Decimal | None:
    """Points as a decimal with two places at most; ValueError for anything else."""
    if value is None:
        return None
    if type(value) is int:
        if -_LARGEST_WHOLE_POINTS <= value <= _LARGEST_WHOLE_POINTS:
            return _whole_points(value)
        value = Decimal(value)
    if (
        not isinstance(value, Decimal)
        or not value.is_finite()
        or not -LARGEST_POINTS <= value <= LARGEST_POINTS
        or value != (rounded := round(value, 2) + 0)  # -0 is 0
    ):
        raise ValueError(
            _(
                "Unexpected points %(value)s: a number with at most two decimals, "
                "up to %(largest)s, is needed."
            )
            % {"value": _shown(value), "largest": LARGEST_POINTS}
        )
    return rounded


@lru_cache(maxsize=10_000)
def _whole_points(value: int) -> Decimal:
    return round(Decimal(value), 2)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond even Decimal's
        _refuse_constant(printable(text))


def _refuse_constant(name: str) -> NoReturn:
    raise ReportError([_("Unexpected number %(value)s.") % {"value": name}])


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _value in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ReportError([_('Field "%(field)s" is given twice.') % {"field": printable(repeated)}])
    return fields


# Made once: json.loads with arguments would make a decoder for each text.
_DECODER = json.JSONDecoder(
    parse_float=_decimal,
    parse_constant=_refuse_constant,
    object_pairs_hook=_refuse_repeated_keys,
)


def _shown(value: Any) -> str:
    """The value as JSON writes it, short enough for a sentence and safe to print."""
    return printable(json.dumps(value, default=str))


def printable(text: Any) -> str:
    """The text, short enough for a sentence; what would not show itself is escaped."""
    start = str(text)[:81]
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in start)
    return shown if len(shown) <= 80 else shown[:79] + "…"
