"""The names and descriptions of the five games, for the catalogs.

They are data that staff can change, so the rows hold them, in English, and translators would never
see them. What is shown is the translation of the row's text: one that staff have changed is shown
as they wrote it, in every language.
"""

from django.utils.translation import pgettext_lazy

NAME_OF_A_GAME = "name of a game"
DESCRIPTION_OF_A_GAME = "description of a game"

# Extraction reads the words where they stand, so the contexts are repeated.
GAME_TEXTS = {
    "brisca": (
        # Translators: names of games stay where players of your language call the game so.
        pgettext_lazy("name of a game", "Brisca"),
        pgettext_lazy(
            "description of a game",
            "Three cards in the hand and one suit for trumps: a trick is worth the points of its "
            "cards, and the most points win.",
        ),
    ),
    "tute": (
        pgettext_lazy("name of a game", "Tute"),
        # Translators: use the words of the table: in Spanish one "sings" twenty or forty.
        pgettext_lazy(
            "description of a game",
            "Tricks for points, and more for king and knight of one suit: twenty, or forty in "
            "trumps.",
        ),
    ),
    "cinquillo": (
        pgettext_lazy("name of a game", "Cinquillo"),
        pgettext_lazy(
            "description of a game",
            "Every suit grows up and down from its five, card by card, and whoever runs out of "
            "cards first comes first.",
        ),
    ),
    "tute-subastado": (
        pgettext_lazy("name of a game", "Tute Subastado"),
        pgettext_lazy(
            "description of a game",
            "Tute with an auction: whoever bids most plays alone against the rest, and has to "
            "make the points that were bid.",
        ),
    ),
    "siete-y-media": (
        pgettext_lazy("name of a game", "Siete y Media"),
        # Translators: the figures are the court cards: jack, knight and king.
        pgettext_lazy(
            "description of a game",
            "Card by card as near to seven and a half as you dare: figures count a half, and "
            "whoever goes over loses the stake.",
        ),
    ),
}
