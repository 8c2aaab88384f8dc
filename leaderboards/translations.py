"""What the catalogs of this release hold, entry by entry, for translators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import polib
from django import forms
from django.conf import settings
from django.db.models import TextChoices
from django.urls import reverse
from django.utils.translation import pgettext_lazy

from leaderboards.catalogs import (
    UnreadableCatalog,
    catalog_path,
    faults,
    is_reviewed,
    open_catalog,
)

SOURCE_LANGUAGE = "en"
ENTRIES_ON_A_PAGE = 50
LAST_PAGE = 1000
LONGEST_SEARCH = 64


class State(TextChoices):
    """What readers get of an entry: the translation where it is complete, English elsewhere."""

    # Translators: of one entry of a translation; the words below the table explain these.
    COMPLETE = "complete", pgettext_lazy("entries of a translation", "complete")
    MISSING = "missing", pgettext_lazy("entries of a translation", "missing")
    FUZZY = "fuzzy", pgettext_lazy("entries of a translation", "fuzzy")
    BROKEN = "broken", pgettext_lazy("entries of a translation", "broken")


class Choice(TextChoices):
    """Which entries are listed."""

    # Translators: all entries of a translation are listed, not only the missing ones.
    ALL = "", pgettext_lazy("entries of a translation", "all")
    MISSING = State.MISSING.value, State.MISSING.label
    FUZZY = State.FUZZY.value, State.FUZZY.label
    BROKEN = State.BROKEN.value, State.BROKEN.label
    UNREVIEWED = "unreviewed", pgettext_lazy("entries of a translation", "not yet reviewed")


@dataclass(frozen=True, slots=True)
class Entry:
    """A message with its translation; `texts` are one or, by number, several."""

    message: str
    plural: str
    context: str
    comments: Sequence[str]
    files: Sequence[str]
    texts: Sequence[str]
    state: State
    is_reviewed: bool
    faults: Sequence[str]

    def is_among(self, choice: str) -> bool:
        if choice == Choice.UNREVIEWED:
            return self.state == State.COMPLETE and not self.is_reviewed
        return not choice or self.state == choice

    def holds(self, search: str) -> bool:
        where = (self.message, self.plural, self.context, *self.texts)
        return any(search in text.casefold() for text in where)


@dataclass(frozen=True, slots=True)
class Translation:
    """The catalog of a language; `why_unreadable` says why it holds no entry, should that be."""

    language: str
    name: str
    entries: Sequence[Entry]
    why_unreadable: str = ""

    @property
    def file(self) -> str:
        return f"locale/{self.language}/LC_MESSAGES/django.po"

    @property
    def counts(self) -> dict[str, int]:
        """How many entries there are of each state, and of those not yet reviewed."""
        states = Counter(entry.state.value for entry in self.entries)
        unreviewed = sum(entry.is_among(Choice.UNREVIEWED) for entry in self.entries)
        return {state.value: states[state.value] for state in State} | {"unreviewed": unreviewed}


def languages() -> dict[str, str]:
    """The languages that are translated into, and what each calls itself."""
    return {code: name for code, name in settings.LANGUAGES if code != SOURCE_LANGUAGE}


def read_translation(language: str) -> Translation:
    return _read_translation(language, Path(settings.LOCALE_PATHS[0]))


# A release's catalogs never change, and reading one takes a tenth of a second.
@cache
def _read_translation(language: str, folder: Path) -> Translation:
    name = languages()[language]
    try:
        catalog = open_catalog(catalog_path(language, folder))
    except UnreadableCatalog as error:
        return Translation(language, name, [], str(error))
    broken: dict[int, list[str]] = {}
    for entry, fault in faults(catalog):
        broken.setdefault(id(entry), []).append(fault)
    return Translation(
        language,
        name,
        [_entry(entry, broken.get(id(entry), [])) for entry in catalog if not entry.obsolete],
    )


def _entry(entry: polib.POEntry, faults_of_it: Sequence[str]) -> Entry:
    if faults_of_it:
        state = State.BROKEN
    elif entry.fuzzy:
        state = State.FUZZY
    elif entry.translated():
        state = State.COMPLETE
    else:
        state = State.MISSING
    return Entry(
        message=entry.msgid,
        plural=entry.msgid_plural,
        context=entry.msgctxt or "",
        comments=[line.removeprefix("Translators:").strip() for line in entry.comment.splitlines()],
        files=[file for file, _line in entry.occurrences],
        texts=[text for _form, text in sorted(entry.msgstr_plural.items())] or [entry.msgstr],
        state=state,
        is_reviewed=is_reviewed(entry),
        faults=faults_of_it,
    )


# Which entries somebody wants to see.


class TranslationForm(forms.Form):
    """A query string. What cannot be used counts as not given."""

    show = forms.ChoiceField(choices=Choice, required=False)
    q = forms.CharField(max_length=LONGEST_SEARCH, required=False)
    page = forms.IntegerField(min_value=1, max_value=LAST_PAGE, required=False)


@dataclass(frozen=True, slots=True)
class TranslationQuestion:
    language: str
    show: str = ""
    search: str = ""
    page: int = 1

    def url(self, **changes: Any) -> str:
        asked = {"show": self.show, "q": self.search, "page": self.page} | changes
        query = urlencode({k: v for k, v in asked.items() if v and (k, v) != ("page", 1)})
        path = reverse("leaderboards:translation", args=[self.language])
        return f"{path}?{query}" if query else path


def read_question(language: str, query: Any) -> TranslationQuestion:
    form = TranslationForm(query)
    form.is_valid()
    asked = form.cleaned_data
    return TranslationQuestion(
        language,
        show=asked.get("show", ""),
        search=asked.get("q", ""),
        page=asked.get("page") or 1,
    )


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Some of the entries asked for; `number` is the last page where there are fewer."""

    entries: Sequence[Entry]
    found: int
    number: int
    count: int


def find_entries(translation: Translation, question: TranslationQuestion) -> EntryPage:
    search = question.search.casefold()
    found = [
        entry
        for entry in translation.entries
        if entry.is_among(question.show) and entry.holds(search)
    ]
    count = max(1, -(-len(found) // ENTRIES_ON_A_PAGE))
    number = min(question.page, count)
    start = (number - 1) * ENTRIES_ON_A_PAGE
    return EntryPage(found[start : start + ENTRIES_ON_A_PAGE], len(found), number, count)
