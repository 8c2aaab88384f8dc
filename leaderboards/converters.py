"""Handles as parts of a URL."""

import unicodedata

# A valid handle has 40 characters at most; written in pieces (NFD), as some systems send it, it
# has up to three times as many. What is longer cannot be anybody's and is not even looked up.
LONGEST_WRITTEN = 120


class HandleConverter:
    """Any spelling of a handle that could be somebody's: letters, marks, digits, `_`, `-`, `.`"""

    regex = rf"[^/]{{1,{LONGEST_WRITTEN}}}"

    def to_python(self, value: str) -> str:
        for character in value:
            if character not in "_-." and unicodedata.category(character)[0] not in "LMN":
                raise ValueError(f"Unexpected {character!r} in a handle.")
        return value

    def to_url(self, value: str) -> str:
        return value
