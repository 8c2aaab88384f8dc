"""What a catalog of translations holds, and what in one would break a page.

Pure: no Django, so that catalogs can be compiled before the settings are read.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polib

LONGEST_COUNT = 1000
"""Plural rules look at the last two or three digits; beyond, at millions."""

NAMED = re.compile(r"%\(\w+\)[#0\- +]?[\d.]*[sdifr]|\{\w*\}")
ORDERED = re.compile(r"%[sdifr]")
TAG = re.compile(r"<[/!a-z][^>]*>?", re.IGNORECASE)
REVIEWED = re.compile(r"^Reviewed:", re.MULTILINE)


class UnreadableCatalog(Exception):
    """Nothing of the catalog can be used; the text says why."""


@dataclass(frozen=True, order=True)
class Message:
    """A message of the source; two with equal words and unequal contexts are two."""

    text: str
    plural: str = ""
    context: str = ""


def catalog_path(language: str, folder: Path) -> Path:
    return folder / language / "LC_MESSAGES" / "django.po"


def open_catalog(path: Path) -> polib.POFile:
    """The catalog in a file. UnreadableCatalog where it is none, or one that Django cannot use."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UnreadableCatalog(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        wrong = content[error.start : error.start + 1].hex()
        raise UnreadableCatalog(
            f"cannot be read: byte {error.start + 1}, 0x{wrong}, is not UTF-8; save it in UTF-8"
        ) from None
    try:
        # polib would take a text without a line break for the name of a file.
        catalog = polib.pofile(text.replace("\r\n", "\n") + "\n")
    except (OSError, ValueError, IndexError) as error:
        raise UnreadableCatalog(f"cannot be read: {error}") from None
    plural_rule(catalog)
    return catalog


def plural_rule(catalog: polib.POFile) -> tuple[int, Callable[[int], int]]:
    """How many plural forms the language has, and which one a number takes."""
    header = catalog.metadata.get("Plural-Forms", "")
    found = re.fullmatch(r"\s*nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*(.+?)\s*;?\s*", header)
    if not found:
        raise UnreadableCatalog("the header has no Plural-Forms")
    forms = int(found[1])
    try:
        form_of: Callable[[int], int] = gettext.c2py(found[2])  # type: ignore[attr-defined]
        wanted = {form_of(n) for n in [*range(LONGEST_COUNT), 1_000_000]}
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise UnreadableCatalog(f"the header has a wrong Plural-Forms: {error}") from None
    if not wanted <= set(range(forms)):
        raise UnreadableCatalog(
            f"the header has a wrong Plural-Forms: {forms} forms, and numbers that take form "
            f"{max(wanted)}"
        )
    return forms, form_of


def key(entry: polib.POEntry) -> Message:
    return Message(entry.msgid, entry.msgid_plural or "", entry.msgctxt or "")


def is_reviewed(entry: polib.POEntry) -> bool:
    """Whether a native speaker has signed the entry, in a comment of its own."""
    return bool(REVIEWED.search(entry.tcomment))


# What would break a page.


def file_faults(path: Path) -> Iterator[str]:
    """What is wrong with a readable catalog as a file, though Django would take it."""
    content = path.read_bytes()
    if content.startswith(b"\xef\xbb\xbf"):
        yield "begins with a byte order mark; save it in UTF-8 without one"
    if b"\r" in content:
        yield "has line ends of Windows (CRLF); save it with LF"
    catalog = open_catalog(path)
    if catalog.metadata.get("Content-Type") != "text/plain; charset=UTF-8":
        yield "the header does not say text/plain; charset=UTF-8"
    language = path.parent.parent.name
    if catalog.metadata.get("Language") != language:
        yield f'the header says Language "{catalog.metadata.get("Language", "")}", not "{language}"'


def faults(catalog: polib.POFile) -> Iterator[tuple[polib.POEntry, str]]:
    """Every entry that no page must be made with, and why.

    Missing and fuzzy ones do no harm: English is shown in their place.
    """
    if not catalog:
        return
    forms, form_of = plural_rule(catalog)
    seen = set()
    for entry in catalog:
        if entry.obsolete:
            continue
        if key(entry) in seen:
            yield entry, "is there twice"
        seen.add(key(entry))
        if not entry.fuzzy:
            for fault in entry_faults(entry, forms, form_of):
                yield entry, fault


def entry_faults(entry: polib.POEntry, forms: int, form_of: Callable[[int], int]) -> Iterator[str]:
    if not entry.msgid_plural:
        if entry.msgstr_plural:
            yield "has plural forms where the source has none"
        elif entry.msgstr:
            yield from text_faults(entry.msgid, entry.msgstr)
        return
    if entry.msgstr:
        yield f"has one text instead of {forms} plural forms"
        return
    if not any(entry.msgstr_plural.values()):
        return
    if set(entry.msgstr_plural) != set(range(forms)) or not all(entry.msgstr_plural.values()):
        filled = sum(bool(text) for text in entry.msgstr_plural.values())
        yield f"has {filled} plural forms instead of {forms}"
        return
    for form, text in sorted(entry.msgstr_plural.items()):
        # The form for 1 may leave the number out ("one match"); the others may not.
        for fault in text_faults(entry.msgid_plural, text, may_omit=form == form_of(1)):
            yield f"{fault} (form {form})"


def text_faults(original: str, text: str, *, may_omit: bool = False) -> Iterator[str]:
    # A placeholder may be said twice, but none may be invented or forgotten.
    for pattern, shape in ((NAMED, set), (ORDERED, list), (TAG, sorted)):
        wanted = shape(pattern.findall(original.replace("%%", "")))
        given = shape(pattern.findall(text.replace("%%", "")))
        is_less = may_omit and pattern is NAMED and set(given) <= set(wanted)
        if given != wanted and not is_less:
            yield f"has {_listed(given)} where the source has {_listed(wanted)}"
    # Django formats most messages, and would take the "% d" of "50% de" for a number.
    if "%" not in original:
        if "%" in text:
            yield "has a % where the source has none"
    elif _has_bare_percent(text) and not _has_bare_percent(original):
        yield "has a % that should be %%"
    for edge, name in ((str.startswith, "starts"), (str.endswith, "ends")):
        if edge(original, "\n") != edge(text, "\n"):
            yield f"{name} with a line break where the source does not, or the reverse"


def _has_bare_percent(text: str) -> bool:
    return "%" in ORDERED.sub("", NAMED.sub("", text.replace("%%", "")))


def _listed(found: set[str] | list[str]) -> str:
    return ", ".join(sorted(found)) or "nothing"
