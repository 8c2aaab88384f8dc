"""The forms of a match's facts: when it ended and how, and who played with what result."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.forms.formsets import DELETION_FIELD_NAME
from django.utils import timezone
from django.utils.formats import get_format
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from ratings.history import Correct, CorrectTeam
from ratings.ledger import FullMatch
from ratings.models import Game, Match, Participation, Player, Termination
from ratings.names import LONGEST_HANDLE_KEY, fold
from ratings.players import find_called
from ratings.reports import LARGEST_PLACE, parse_instant, parse_points, printable
from ratings.written_numbers import read_decimal


def label_of(model: type[Match | Participation], field: str) -> str:
    return capfirst(model._meta.get_field(field).verbose_name)


class MomentField(forms.Field):
    """A moment to the microsecond: of UTC, unless an offset goes with it."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
        return value

    def to_python(self, value: str | None) -> datetime | None:
        text = (value or "").strip()
        if not text:
            return None
        for written in (text, f"{text}Z"):
            try:
                return parse_instant(written)
            except ValueError:
                continue
        raise ValidationError(
            _(
                "Unexpected “%(text)s”: a date from the year 1000 on and a time are needed, such "
                "as 2026-11-29 18:00:00."
            )
            % {"text": printable(text)}
        )


class PointsField(forms.Field):
    """Points with two decimals at most, written with a point or a comma; or none."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Decimal):
            whole, _point, fraction = f"{value:f}".partition(".")
            fraction = fraction.rstrip("0")
            return f"{whole}{get_format('DECIMAL_SEPARATOR')}{fraction}" if fraction else whole
        return value

    def to_python(self, value: str | None) -> Decimal | None:
        text = (value or "").strip()
        if not text:
            return None
        number = read_decimal(text)
        try:
            return parse_points(text if number is None else number)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class FactsForm(forms.Form):
    played_at = MomentField(
        label=gettext_lazy("Played at (UTC)"),
        widget=forms.TextInput(attrs={"size": 26, "autocomplete": "off"}),
        help_text=gettext_lazy(
            "When the match ended, in UTC. With an offset, such as +02:00 at the end, any other "
            "clock is understood too."
        ),
    )
    termination = forms.ChoiceField(
        label=label_of(Match, "termination"), choices=Termination.choices
    )

    def clean_played_at(self) -> datetime:
        moment: datetime = self.cleaned_data["played_at"]
        if moment > timezone.now():
            raise ValidationError(
                _("%(moment)s UTC is still to come: give a moment that has been.")
                % {"moment": f"{moment:%Y-%m-%d %H:%M:%S}"}
            )
        return moment


WHOLE = dict.fromkeys(("invalid", "min_value"), gettext_lazy("Write a whole number from 1."))


class PlayerForm(forms.Form):
    handle = forms.CharField(
        label=label_of(Player, "handle"),
        max_length=LONGEST_HANDLE_KEY,
        widget=forms.TextInput(
            attrs={"size": 24, "list": "handles", "autocomplete": "off", "spellcheck": "false"}
        ),
        error_messages={"required": gettext_lazy("Say who played, or take the row away.")},
    )
    team = forms.IntegerField(
        label=label_of(Participation, "team"),
        min_value=1,
        widget=forms.NumberInput(attrs={"class": "vIntegerField"}),
        error_messages=WHOLE,
    )
    place = forms.IntegerField(
        label=label_of(Participation, "place"),
        min_value=1,
        max_value=LARGEST_PLACE,
        widget=forms.NumberInput(attrs={"class": "vIntegerField"}),
        error_messages=WHOLE,
    )
    points = PointsField(
        label=label_of(Participation, "points"),
        required=False,
        widget=forms.TextInput(attrs={"size": 9, "inputmode": "decimal", "autocomplete": "off"}),
    )

    def clean(self) -> None:
        if self.is_removed:
            self.errors.clear()  # what goes need not be right

    @property
    def is_removed(self) -> bool:
        return bool(self.cleaned_data.get(DELETION_FIELD_NAME))


class PlayersFormSet(forms.BaseFormSet):
    """A row for each player, and empty ones for as many more as the game allows."""

    forms: list[PlayerForm]

    def add_fields(self, form: forms.Form, index: int | None) -> None:
        super().add_fields(form, index)
        if DELETION_FIELD_NAME in form.fields:
            # Translators: a box to tick: this player did not play in the match.
            form.fields[DELETION_FIELD_NAME].label = pgettext_lazy("a row of a form", "Remove")

    def clean(self) -> None:
        rows = {
            number: form
            for number, form in enumerate(self.forms, start=1)
            if form.cleaned_data and not form.is_removed
        }
        self._find_players(rows)
        self._check_teams(rows)

    def _find_players(self, rows: Mapping[int, PlayerForm]) -> None:
        """Puts into each row who is called so; nobody may stand in two of them."""
        handles = {
            number: form.cleaned_data["handle"]
            for number, form in rows.items()
            if "handle" in form.cleaned_data
        }
        found = find_called(handles.values())
        row_of: dict[int, int] = {}
        for number, handle in handles.items():
            player = found.get(fold(handle))
            if player is None:
                problem = _("Nobody is called “%(handle)s”, and nobody was.")
                rows[number].add_error("handle", problem % {"handle": printable(handle)})
                continue
            rows[number].cleaned_data["player"] = player.pk
            if row_of.setdefault(player.pk, number) != number:
                problem = _("%(player)s stands in row %(row)d already: nobody plays twice.")
                shown = {"player": player.handle, "row": row_of[player.pk]}
                rows[number].add_error("handle", problem % shown)

    def _check_teams(self, rows: Mapping[int, PlayerForm]) -> None:
        """The members of a team have one result."""
        first_of: dict[int, int] = {}
        for number, form in rows.items():
            if not form.cleaned_data.keys() >= {"team", "place", "points"}:
                continue
            first = first_of.setdefault(form.cleaned_data["team"], number)
            whole = rows[first].cleaned_data
            shown = {"team": form.cleaned_data["team"], "row": first, "place": whole["place"]}
            if form.cleaned_data["place"] != whole["place"]:
                problem = _("Team %(team)d has place %(place)d in row %(row)d: it has only one.")
                form.add_error("place", problem % shown)
            if form.cleaned_data["points"] != whole["points"]:
                problem = _("Team %(team)d has other points in row %(row)d: write the same.")
                form.add_error("points", problem % shown)

    def teams(self) -> list[CorrectTeam]:
        """What the rows say, once they are valid: the teams by their numbers."""
        teams: dict[int, CorrectTeam] = {}
        rows = [form.cleaned_data for form in self.forms if form.cleaned_data]
        for row in sorted(rows, key=lambda row: row.get("team", 0)):
            if not row.get(DELETION_FIELD_NAME):
                team = teams.setdefault(row["team"], CorrectTeam([], row["place"], row["points"]))
                team.players.append(row["player"])
        return list(teams.values())


class FactForms(NamedTuple):
    """Both forms of a match."""

    facts: FactsForm
    players: PlayersFormSet

    def are_valid(self) -> bool:
        # Both, so that every problem is shown at once.
        return all([self.facts.is_valid(), self.players.is_valid()])

    def right(self, full: FullMatch) -> Correct:
        """What they say of the match, once they are valid; None for the teams as they are.

        So that an old match may get another time whose players the game would not allow today.
        """
        teams = self.players.teams()
        return Correct(
            played_at=self.facts.cleaned_data["played_at"],
            termination=self.facts.cleaned_data["termination"],
            teams=None if _results(teams) == _results(teams_of(full)) else teams,
        )


def fact_forms(game: Game, full: FullMatch, data: Mapping[str, Any] | None = None) -> FactForms:
    """The forms as they were filled in, or else with what the match says now."""
    rows = _rows(full)
    most = max(game.max_players, len(rows))
    formset = forms.formset_factory(
        PlayerForm,
        formset=PlayersFormSet,
        extra=most - len(rows),
        max_num=most,
        absolute_max=most,
        can_delete=True,
        can_delete_extra=False,
    )
    if data is not None:
        return FactForms(FactsForm(data), formset(data, prefix="players"))
    initial = {"played_at": full.match.played_at, "termination": full.termination}
    return FactForms(FactsForm(initial=initial), formset(initial=rows, prefix="players"))


def _rows(full: FullMatch) -> list[dict[str, Any]]:
    entries = full.match.entries
    players = Player.objects.filter(pk__in=[entry.player for entry in entries])
    handles = dict(players.values_list("pk", "handle"))
    return [
        {
            "handle": handles[entry.player],
            "team": entry.team,
            "place": entry.place,
            "points": full.points[entry.team],
        }
        for entry in entries
    ]


def teams_of(full: FullMatch) -> list[CorrectTeam]:
    """The teams as they stand."""
    teams: dict[int, CorrectTeam] = {}
    for entry in full.match.entries:
        team = CorrectTeam([], entry.place, full.points[entry.team])
        teams.setdefault(entry.team, team).players.append(entry.player)
    return list(teams.values())


def _results(teams: list[CorrectTeam]) -> set[tuple[frozenset[int], int, Decimal | None]]:
    return {(frozenset(team.players), team.place, team.points) for team in teams}
