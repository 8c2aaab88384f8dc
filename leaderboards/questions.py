"""What a URL asks of a board: its query string, cleaned, and the way back to a URL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.urls import reverse

from ratings.models import Game, System
from ratings.names import LONGEST_HANDLE, LONGEST_NAME
from ratings.standings import Kind

LAST_PAGE = 1_000_000
LAST_RANK = 100_000_000
# What decoding makes of bytes that are no text: nobody is called so.
NO_LETTER = "\ufffd"


class SearchForm(forms.Form):
    """A part of a name in a query string. What cannot be used counts as not given."""

    q = forms.CharField(max_length=LONGEST_NAME, required=False)

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        return text.replace(NO_LETTER, "").strip()


class BoardForm(SearchForm):
    """A board's query string. What cannot be used counts as not given."""

    system = forms.ChoiceField(choices=System, required=False)
    kind = forms.ChoiceField(choices=Kind, required=False)
    around = forms.CharField(max_length=LONGEST_HANDLE, required=False)
    rank = forms.IntegerField(min_value=1, max_value=LAST_RANK, required=False)
    page = forms.IntegerField(min_value=1, max_value=LAST_PAGE, required=False)
    v = forms.IntegerField(min_value=0, required=False)


@dataclass(frozen=True, slots=True)
class BoardQuestion:
    """Which part of which board is asked for.

    By `search`, a part of a name; by `around`, the handle of a player amid his neighbours; by
    `rank`, the page that holds it; or by `page`. Only one of them at a time.
    """

    game: Game
    system: str = System.ELO.value
    kind: str = Kind.EVERYONE.value
    search: str = ""
    around: str = ""
    rank: int | None = None
    page: int = 1

    def url(self, **changes: Any) -> str:
        """The one URL of this question, or of the one that differs from it so."""
        asked = replace(self, **changes)
        path = reverse("leaderboards:board", args=[asked.game.slug])
        query = asked.query()
        return f"{path}?{query}" if query else path

    def place_url(self, **place: Any) -> str:
        """The same board at another place: at its top, or where `place` says."""
        return self.url(**({"search": "", "around": "", "rank": None, "page": 1} | place))

    def csv_url(self) -> str:
        """The whole board as a file."""
        path = reverse("board-csv", args=[self.game.slug])
        query = BoardQuestion(self.game, self.system, self.kind).query()
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
                    ("q", self.search, ""),
                    ("around", self.around, ""),
                    ("rank", self.rank, None),
                    ("page", self.page, 1),
                )
                if value != default
            }
        )


def read_search(query: QueryDict) -> str:
    """The part of a name that somebody seeks; empty for none."""
    form = SearchForm(query)
    form.is_valid()
    search: str = form.cleaned_data.get("q", "")
    return search


def read_board_question(game: Game, query: QueryDict) -> tuple[BoardQuestion, int | None]:
    """The question, and the version that the asking page shows already (None: none)."""
    form = BoardForm(query)
    form.is_valid()
    cleaned = {name: value for name, value in form.cleaned_data.items() if value not in ("", None)}
    version = cleaned.pop("v", None)
    if "q" in cleaned:
        cleaned["search"] = cleaned.pop("q")
    places = [name for name in ("search", "around", "rank", "page") if name in cleaned]
    for name in places[1:]:
        del cleaned[name]
    return BoardQuestion(game, **cleaned), version
