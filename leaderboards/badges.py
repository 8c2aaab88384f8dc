"""A player's standing as a picture: what it says, and how much room the words take."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from unicodedata import combining, east_asian_width

from django.utils.translation import gettext, pgettext

from leaderboards.templatetags.numbers import rating as shown_as
from leaderboards.themes import Theme
from ratings.models import Game, Player, Rating, System
from ratings.standings import Board

# A badge shown as a picture cannot load the site's stylesheet, so it carries its own: named to
# the content policy by its digest, for whoever opens the badge as a page.
LIGHT = ".b{fill:#fffdf8;stroke:#c9bfa8}.n{fill:#212b26}.l{fill:#59645d}"
DARK = ".b{fill:#1a2320;stroke:#4a5851}.n{fill:#ebe6d8}.l{fill:#a8b3ac}"
STYLES = {
    "": f"{LIGHT}@media(prefers-color-scheme:dark){{{DARK} }}",
    Theme.LIGHT.value: LIGHT,
    Theme.DARK.value: DARK,
}
"""By the theme that the address asks for; without one the reader's system decides."""
STYLE_SOURCES = [
    f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" for style in STYLES.values()
]

TEXT_FROM = 52
PADDING = 14
NAME_SIZE = 15
LINE_SIZE = 12
NARROWEST = 160
WIDE = frozenset("mwMW@%")
"""As wide as they are high, or nearly."""


@dataclass(frozen=True, slots=True)
class Badge:
    """Two lines of text in a box `width` pixels wide."""

    name: str
    line: str
    theme: str = ""

    @property
    def width(self) -> int:
        text = max(_width(self.name, NAME_SIZE), _width(self.line, LINE_SIZE))
        return max(NARROWEST, round(TEXT_FROM + text + PADDING))

    @property
    def right(self) -> int:
        """The width of the box inside its border."""
        return self.width - 1

    @property
    def style(self) -> str:
        return STYLES[self.theme]


def make_badge(
    player: Player, game: Game, rating: Rating | None, system: str, theme: str = ""
) -> Badge:
    """The badge of a player in a game. One query, for the rank, where he is on the board."""
    if rating is None:
        words = [game.display_name, gettext("no rated match yet")]
        return Badge(player.display_name, " · ".join(words), theme)
    board = Board(game, system)
    number = f"{System(system).label} {shown_as(board.shown(rating))}"
    standing = board.standing(rating)
    if standing is None:
        place = gettext("not on the board")
    else:
        place = pgettext("on a board", "rank %(rank)s") % {"rank": shown_as(standing.rank)}
    words = [game.display_name, number, place]
    if rating.is_provisional:
        words.append(gettext("provisional"))
    return Badge(player.display_name, " · ".join(words), theme)


def missing_badge(theme: str = "") -> Badge:
    """What stands where there is no such player or game."""
    return Badge("Naiply", gettext("no such player or game"), theme)


def _width(text: str, size: int) -> float:
    """About how wide a text is: hardly ever too little in a face that a system may have."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if combining(letter):
        return 0.0
    if east_asian_width(letter) in "WF" or letter in WIDE:
        return 1.1
    return 0.8 if letter.isupper() else 0.7
