"""What a URL asks of a profile: its query string, cleaned, and the way back to a URL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from ratings.models import Match, System

LARGEST_ID = 2**63 - 1


class ProfileForm(forms.Form):
    """A profile's query string. What cannot be used counts as not given."""

    system = forms.ChoiceField(choices=System, required=False)
    before = forms.IntegerField(min_value=1, max_value=LARGEST_ID, required=False)
    after = forms.IntegerField(min_value=1, max_value=LARGEST_ID, required=False)


@dataclass(frozen=True, slots=True)
class ProfileQuestion:
    """Whose chart is asked for, and which matches: those before or after one of them."""

    system: str = System.ELO.value
    before: int | None = None
    after: int | None = None

    @property
    def match_id(self) -> int | None:
        return self.before or self.after

    def url(self, path: str, **changes: object) -> str:
        """The one URL of a question about the page at `path`: only what differs is in it."""
        asked = {"system": self.system, **changes}
        defaults = {"system": System.ELO.value}
        query = urlencode(
            {
                name: value
                for name, value in asked.items()
                if value not in (None, defaults.get(name))
            }
        )
        return f"{path}?{query}" if query else path


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a list of matches goes on: down from a match, or up from it."""

    played_at: datetime
    match_id: int
    is_back: bool = False


def read_profile_question(query: QueryDict) -> ProfileQuestion:
    form = ProfileForm(query)
    form.is_valid()
    return ProfileQuestion(
        **{name: value for name, value in form.cleaned_data.items() if value not in ("", None)}
    )


def read_turn(question: ProfileQuestion) -> Turn | None:
    """The place in the list; None, the newest, also where that match does not exist. One query."""
    if question.match_id is None:
        return None
    played_at = Match.objects.filter(pk=question.match_id).values_list("played_at", flat=True)
    for at in played_at:
        return Turn(at, question.match_id, is_back=question.before is None)
    return None
