"""Several things in one sentence, as the reader's language joins them."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import pgettext


def all_of(items: Sequence[str]) -> str:
    """Such as "a, b and c"."""
    # Translators: the end of a list. Before "last" stand one or more things with commas between
    # them: "a, b and c".
    return _joined(items, pgettext("list", "%(others)s and %(last)s"))


def one_of(items: Sequence[str]) -> str:
    """Such as "a, b or c"."""
    # Translators: the end of a list. Before "last" stand one or more things with commas between
    # them: "a, b or c".
    return _joined(items, pgettext("list", "%(others)s or %(last)s"))


def _joined(items: Sequence[str], end: str) -> str:
    *others, last = items
    return end % {"others": ", ".join(others), "last": last} if others else last
