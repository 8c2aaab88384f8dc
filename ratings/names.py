"""What players may be called, and when two names are the same.

A handle is part of a URL and unique twice over: by `fold` (NFKC and case), which finds it, and by
`skeleton`, which also folds letters that look alike, so that nobody passes for somebody else. A
name is only shown, and may hold anything that shows as itself.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from confusable_homoglyphs.confusables import confusables_data
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

LONGEST_HANDLE = 40
LONGEST_NAME = 64
LONGEST_PLAYER_ID = 128
# NFKC and the confusables write some letters out: one Arabic ligature becomes eighteen letters.
LONGEST_HANDLE_KEY = 240
LONGEST_HANDLE_SKELETON = 480
LONGEST_PLAYER_ID_KEY = 512
UNNAMED = "player"
"""What `suggest_handle` falls back to."""
MOST_MARKS = 2
"""Combining marks on one letter; more of them climb over the lines above."""

# fmt: off
RESERVED = frozenset({
    "about", "account", "accounts", "admin", "administrator", "api", "badge", "board", "boards",
    "bot", "bots", "calculators", "compare", "docs", "edit", "embed", "faq", "help",
    "how-it-works", "leaderboard", "leaderboards", "login", "logout", "match", "matches", "me",
    "moderator", "naiply", "new", "nobody", "none", "null", "official", "play", "player",
    "players", "root", "rules", "search", "settings", "staff", "static", "support", "system",
    "undefined", "verify", "www",
})
# fmt: on

_ZERO_WIDTH_JOINER = "\u200d"
_EMOJI_PRESENTATION = "\ufe0f"
_BETWEEN_WORDS = re.compile(r"[\s_.\-]+")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """The key under which a handle or a player id is looked up: NFKC, case folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=100_000)
def skeleton(text: str) -> str:
    """The same for all texts that look the same: Unicode's confusables, case folded.

    Once more after the folding, since a small m looks like rn, and a capital one does not.
    Source: Unicode Technical Standard 39, section 4.
    """
    for _step in range(2):
        normal = unicodedata.normalize("NFKC", text)
        text = fold("".join(_prototype(character) for character in normal))
    return text


def search_key(*texts: str) -> str:
    """What search compares: each word of the texts after one blank; no case, no accents.

    So "nunez", "NUÑEZ" and "Nuñez" are one, and " nun" finds the words that begin so.
    """
    words = []
    for text in texts:
        pieces = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        bare = "".join(piece for piece in pieces if unicodedata.category(piece)[0] != "M")
        words += _BETWEEN_WORDS.split(unicodedata.normalize("NFC", bare))
    return "".join(f" {word}" for word in dict.fromkeys(words) if word)


def _prototype(character: str) -> str:
    """The character that stands for all that look like it."""
    similar = confusables_data.get(character, ())
    if len(similar) != 1:
        # None look like it, or it is itself what many others are mapped to.
        return character
    target: str = similar[0]["c"]
    if len(confusables_data.get(target, ())) == 1 and target > character:
        return character
    return target


def validate_handle(handle: str) -> None:
    """ValidationError unless it is 1 to 40 NFC letters, marks, digits, `_`, `-` and `.`."""
    shown = {"handle": handle}
    if not handle:
        raise ValidationError(_("A handle needs at least one character."))
    if len(handle) > LONGEST_HANDLE:
        raise ValidationError(
            _('The handle "%(handle)s…" has %(length)d characters: the most are %(most)d.')
            % {"handle": handle[:20], "length": len(handle), "most": LONGEST_HANDLE}
        )
    if handle != unicodedata.normalize("NFC", handle):
        raise ValidationError(
            _('The handle "%(handle)s" has letters in pieces: write them whole (Unicode NFC).')
            % shown
        )
    for character in handle:
        if not _may_stand_in_handle(character):
            raise ValidationError(
                _(
                    'Unexpected "%(character)s" in the handle "%(handle)s": '
                    "letters, digits, _, - and . are allowed."
                )
                % {"character": _visible(character), **shown}
            )
    if not handle.strip("."):
        raise ValidationError(_('The handle "%(handle)s" needs more than dots.') % shown)
    _validate_marks(handle)
    if len(fold(handle)) > LONGEST_HANDLE_KEY or len(skeleton(handle)) > LONGEST_HANDLE_SKELETON:
        raise ValidationError(
            _('The handle "%(handle)s" is too long once its letters are written out.') % shown
        )
    if fold(handle) in RESERVED or skeleton(handle) in _RESERVED_SKELETONS:
        raise ValidationError(_('The handle "%(handle)s" is kept for the site itself.') % shown)


def validate_name(name: str) -> None:
    """ValidationError unless it is 1 to 64 characters that all show as themselves."""
    if not name.strip():
        raise ValidationError(_("A name needs at least one character that can be seen."))
    if len(name) > LONGEST_NAME:
        raise ValidationError(
            _('The name "%(name)s…" has %(length)d characters: the most are %(most)d.')
            % {"name": name[:20], "length": len(name), "most": LONGEST_NAME}
        )
    if _EMAIL.fullmatch(name.strip()):
        raise ValidationError(_("An e-mail address would be shown to everyone: choose a name."))
    _validate_visible(name)
    _validate_marks(name)


@lru_cache(maxsize=100_000)
def clean_player_id(player_id: str) -> str:
    """A source's player id without surrounding blanks, in NFC; ValueError where it is unusable."""
    cleaned = unicodedata.normalize("NFC", player_id.strip())
    if not cleaned:
        raise ValueError(_("A player id needs at least one character that can be seen."))
    if len(cleaned) > LONGEST_PLAYER_ID:
        raise ValueError(
            _('The player id "%(id)s…" has %(length)d characters: the most are %(most)d.')
            % {"id": cleaned[:20], "length": len(cleaned), "most": LONGEST_PLAYER_ID}
        )
    try:
        _validate_visible(cleaned)
        _validate_marks(cleaned)
    except ValidationError as error:
        raise ValueError(error.message) from None
    if len(fold(cleaned)) > LONGEST_PLAYER_ID_KEY:
        raise ValueError(
            _('The player id "%(id)s…" is too long once its letters are written out.')
            % {"id": cleaned[:20]}
        )
    return cleaned


def suggest_handle(player_id: str) -> str:
    """The handle nearest to a player id: the id itself where it is a valid handle.

    Nothing of an e-mail address: a handle is shown to everyone.
    """
    if _EMAIL.fullmatch(player_id):
        return UNNAMED
    whole = unicodedata.normalize("NFC", player_id)
    kept = "".join(character if _may_stand_in_handle(character) else "-" for character in whole)
    # A comma cannot be left over, and marks at the start would have no letter to sit on.
    nearest = re.sub(r"-{2,}", "-", kept).strip("-")[:LONGEST_HANDLE]
    for handle in (whole, nearest):
        try:
            validate_handle(handle)
        except ValidationError:
            continue
        return handle
    return UNNAMED


def _may_stand_in_handle(character: str) -> bool:
    return character in "_-." or (
        unicodedata.category(character)[0] in "LMN" and not _is_blank(character)
    )


def _validate_visible(text: str) -> None:
    for index, character in enumerate(text):
        category = unicodedata.category(character)
        if category[0] != "C" and category not in ("Zl", "Zp") and not _is_blank(character):
            continue
        if character == _ZERO_WIDTH_JOINER and _joins_symbols(text, index):
            continue
        if character == _EMOJI_PRESENTATION and index and _is_symbol(text[index - 1]):
            continue
        raise ValidationError(
            _('Unexpected %(character)s in "%(text)s": invisible characters are not allowed.')
            % {
                "character": _visible(character),
                "text": "".join(c for c in text if unicodedata.category(c)[0] != "C"),
            }
        )


def _validate_marks(text: str) -> None:
    marks = MOST_MARKS  # so that a text cannot begin with a mark
    for character in unicodedata.normalize("NFD", text):
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        if marks > MOST_MARKS and character != _EMOJI_PRESENTATION:
            raise ValidationError(
                _('Too many marks on one letter in "%(text)s": the most are %(most)d.')
                % {"text": text, "most": MOST_MARKS}
            )


def _is_blank(character: str) -> bool:
    """Characters that are letters or marks by category, but show nothing."""
    return character in "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180f" or (
        "\u180b" <= character <= "\u180d"
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sk") or character == _EMOJI_PRESENTATION


def _joins_symbols(text: str, index: int) -> bool:
    return 0 < index < len(text) - 1 and _is_symbol(text[index - 1]) and _is_symbol(text[index + 1])


def _visible(character: str) -> str:
    if unicodedata.category(character)[0] in "CMZ" or _is_blank(character):
        return f"U+{ord(character):04X}"
    return character


_RESERVED_SKELETONS = frozenset(
    skeleton(form) for word in RESERVED for form in (word, word.upper())
)
