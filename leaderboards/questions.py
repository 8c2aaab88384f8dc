"""What a URL asks of a board: its query string, cleaned, and the way back to a URL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.urls import reverse

from ratings.models import Game, System
from ratings.names import LONGEST_HANDLE
from ratings.standings import Kind

LAST_PAGE = 1_000_000


class BoardForm(forms.Form):
    """A board's query string. What cannot be used counts as not given."""

    system = forms.ChoiceField(choices=System, required=False)
    kind = forms.ChoiceField(choices=Kind, required=False)
    page = forms.IntegerField(min_value=1, max_value=LAST_PAGE, required=False)
    around = forms.CharField(max_length=LONGEST_HANDLE, required=False)
    v = forms.IntegerField(min_value=0, required=False)


@dataclass(frozen=True, slots=True)
class BoardQuestion:
    """Which part of which board is asked for. `around` is a handle: the players next to it."""

    game: Game
    system: str = System.ELO.value
    kind: str = Kind.EVERYONE.value
    page: int = 1
    around: str = ""

    def url(self, **changes: Any) -> str:
        """The one URL of this question, or of the one that differs from it so."""
        asked = replace(self, **changes)
        path = reverse("leaderboards:board", args=[asked.game.slug])
        query = asked.query()
        return f"{path}?{query}" if query else path

    def live_url(self, version: int) -> str:
        """Where a page that shows this version asks for news."""
        return self.url() + ("&" if self.query() else "?") + f"v={version}"

    def query(self) -> str:
        """Only what differs from the plain board, always in the same order."""
        return urlencode(
            {
                name: value
                for name, value, default in (
                    ("system", self.system, System.ELO),
                    ("kind", self.kind, Kind.EVERYONE),
                    ("around", self.around, ""),
                    ("page", self.page, 1),
                )
                if value != default
            }
        )


def read_board_question(game: Game, query: QueryDict) -> tuple[BoardQuestion, int | None]:
    """The question, and the version that the asking page shows already (None: none)."""
    form = BoardForm(query)
    form.is_valid()
    cleaned = {name: value for name, value in form.cleaned_data.items() if value not in ("", None)}
    version = cleaned.pop("v", None)
    if "around" in cleaned:
        cleaned.pop("page", None)
    return BoardQuestion(game, **cleaned), version
