"""What a correction changes of a match, told fact by fact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from ratings.models import Match, Player, Status, Termination


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A fact of the whole match, in the reader's words."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Part:
    """What a player did in a match, and in whose company."""

    place: int
    points: Decimal | None
    partners: list[str]


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A player whose part changes; None where he has none, before or after."""

    handle: str
    before: Part | None
    after: Part | None


@dataclass(frozen=True, slots=True)
class Changes:
    facts: list[ChangedFact]
    parts: list[ChangedPart]


def changes_between(
    described: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> list[Changes]:
    """What differs between each match as it was and as it became, both as a Correction keeps them.

    The numbers of the teams are no fact: who plays with whom is. One query, however many.
    """
    pairs = list(described)
    ids = {
        player
        for pair in pairs
        for match in pair
        for _place, _points, players in match["teams"]
        for player in players
    }
    handles = dict(Player.objects.filter(pk__in=ids).values_list("pk", "handle"))
    return [Changes(_facts(*pair), _parts(*pair, handles)) for pair in pairs]


def _facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ChangedFact]:
    return [
        ChangedFact(
            str(Match._meta.get_field(fact).verbose_name),
            in_words(before[fact]),
            in_words(after[fact]),
        )
        for fact, in_words in _IN_WORDS.items()
        if before[fact] != after[fact]
    ]


def _parts(
    before: Mapping[str, Any], after: Mapping[str, Any], handles: Mapping[int, str]
) -> list[ChangedPart]:
    was, becomes = _parts_of(before, handles), _parts_of(after, handles)
    return [
        ChangedPart(handles[player], was.get(player), becomes.get(player))
        for player in {**was, **becomes}
        if was.get(player) != becomes.get(player)
    ]


def _parts_of(match: Mapping[str, Any], handles: Mapping[int, str]) -> dict[int, Part]:
    return {
        player: Part(
            place,
            None if points is None else Decimal(points),
            sorted(handles[other] for other in players if other != player),
        )
        for place, points, players in match["teams"]
        for player in players
    }


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    return _("%(moment)s UTC") % {"moment": moment.isoformat(" ")}


_IN_WORDS: dict[str, Callable[[str], str]] = {
    "status": lambda value: str(Status(value).label),
    "played_at": _moment,
    "termination": lambda value: str(Termination(value).label),
}
