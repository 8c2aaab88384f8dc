from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import F, Q
from django.utils.translation import gettext, gettext_lazy, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from ratings.game_texts import DESCRIPTION_OF_A_GAME, NAME_OF_A_GAME
from ratings.systems.decay import current_monday

EVERYONE_FOR_HIMSELF = "solo"
ONE_AGAINST_THE_REST = "1v*"
TEAM_SIZES = re.compile(r"[1-9]\d?(v[1-9]\d?)+")


def validate_shape(shape: str) -> None:
    if shape not in (EVERYONE_FOR_HIMSELF, ONE_AGAINST_THE_REST) and not TEAM_SIZES.fullmatch(
        shape
    ):
        raise ValidationError(
            gettext(
                'Unknown shape "%(shape)s": write solo, 1v* (one against the rest), '
                "or team sizes such as 2v2."
            ),
            params={"shape": shape},
        )


class PlacesBy(models.TextChoices):
    CARD_POINTS = "card-points", _("card points")
    GOING_OUT = "going-out", _("order of going out, then cards left")
    TOTAL_SCORE = "total-score", _("total score")
    CHIPS = "chips", _("final chips")


class Game(models.Model):
    """One of the card games; each has its own ratings and its own leaderboard."""

    slug = models.SlugField(_("slug"), max_length=40, unique=True)
    name = models.CharField(
        _("name"), max_length=60, help_text=_("In English; translated through the catalogs.")
    )
    description = models.CharField(
        _("description"),
        max_length=300,
        blank=True,
        help_text=_(
            "A sentence on how it is played, for its board. "
            "In English; translated through the catalogs."
        ),
    )
    position = models.PositiveSmallIntegerField(
        # Translators: which of the games comes first, second and so on.
        pgettext_lazy("in a list", "position"),
        default=0,
        help_text=_("Order in which the games are listed."),
    )
    min_players = models.PositiveSmallIntegerField(_("fewest players"), default=2)
    max_players = models.PositiveSmallIntegerField(_("most players"), default=4)
    shapes = ArrayField(
        models.CharField(max_length=20, validators=[validate_shape]),
        # Translators: how the players may be divided: everyone for himself, pairs, one against the
        # rest.
        verbose_name=_("shapes"),
        help_text=_(
            "Separated by commas: solo (everyone for himself), 1v* (one against the rest), "
            "or team sizes such as 2v2."
        ),
    )
    places_by = models.CharField(
        pgettext_lazy("in a match", "places by"), max_length=20, choices=PlacesBy
    )
    idle_days = models.PositiveIntegerField(
        # Translators: after so many days without a match a player leaves the board.
        _("idle days"),
        null=True,
        blank=True,
        default=180,
        help_text=_(
            "A player whose last rated match is older leaves the board until the next one. "
            "Empty: never. Takes effect at once."
        ),
    )
    play_url = models.URLField(_("address to play at"), blank=True)

    class Meta:
        verbose_name = _("game")
        verbose_name_plural = _("games")
        ordering = ["position", "slug"]
        constraints = [
            models.CheckConstraint(
                name="game_player_counts",
                condition=Q(min_players__gte=2, max_players__gte=F("min_players")),
                violation_error_message=gettext_lazy(
                    "A match needs at least 2 players, and the most must not be below the fewest."
                ),
            ),
            models.CheckConstraint(
                name="game_has_shapes",
                condition=Q(shapes__len__gte=1),
                violation_error_message=gettext_lazy("Name at least one shape, such as solo."),
            ),
        ]

    def __str__(self) -> str:
        return self.display_name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Saves the game and, with a new one, the row that its writers lock."""
        with transaction.atomic():
            super().save(*args, **kwargs)
            GameState.objects.get_or_create(game=self)

    @property
    def display_name(self) -> str:
        """The name in the reader's language."""
        return pgettext(NAME_OF_A_GAME, self.name) if self.name else self.slug

    @property
    def display_description(self) -> str:
        """What is played, in the reader's language; empty where nobody has written it."""
        return pgettext(DESCRIPTION_OF_A_GAME, self.description) if self.description else ""

    def allows(self, team_sizes: Sequence[int]) -> bool:
        """Whether teams of these sizes are a shape of the game; order does not matter."""
        sizes = sorted(team_sizes)
        for shape in self.shapes:
            if shape == EVERYONE_FOR_HIMSELF:
                if sizes[-1] == 1:
                    return True
            elif shape == ONE_AGAINST_THE_REST:
                if len(sizes) == 2 and sizes[0] == 1 and sizes[1] >= 2:
                    return True
            elif sizes == sorted(int(size) for size in shape.split("v")):
                return True
        return False

    def shape_problems(self, team_sizes: Sequence[int]) -> list[str]:
        """Why teams of these sizes cannot play the game, in the reader's language."""
        players = sum(team_sizes)
        if not self.min_players <= players <= self.max_players:
            return [
                gettext(
                    "Unexpected number of players, %(players)d: %(game)s has %(fewest)d to "
                    "%(most)d."
                )
                % {
                    "players": players,
                    "game": self.slug,
                    "fewest": self.min_players,
                    "most": self.max_players,
                }
            ]
        if not self.allows(team_sizes):
            return [
                # Translators: answers a game server: sizes is such as 2 v 2, shapes such as solo,
                # 2v2.
                gettext("Unexpected teams of %(sizes)s players: %(game)s is played %(shapes)s.")
                % {
                    "sizes": " v ".join(map(str, team_sizes)),
                    "game": self.slug,
                    "shapes": ", ".join(self.shapes),
                }
            ]
        return []


class GameState(models.Model):
    """The row that every writer of a game locks first; there is one writer per game.

    `version` grows by one with each committed change that a reader could see.
    `changed_at` is when it last did; null before the first time.
    `rewrites` counts those changes that touched what was history already.
    `decayed_to` is a Monday 00:00 UTC that only grows: what `Rating.sigma` is projected to.
    `engine` names the rules and the maths library that computed the stored numbers.
    """

    game = models.OneToOneField(
        Game,
        verbose_name=_("game"),
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="state",
    )
    version = models.PositiveBigIntegerField(_("version"), default=0)
    changed_at = models.DateTimeField(_("changed at"), null=True, editable=False)
    # Translators: how often what was history already has been changed.
    rewrites = models.PositiveBigIntegerField(_("rewrites"), default=0)
    decayed_to = models.DateTimeField(_("decayed to"), default=current_monday)
    # Translators: the version of the rules and of the machine's arithmetic that computed the
    # numbers.
    engine = models.CharField(_("engine"), max_length=64, blank=True)

    class Meta:
        verbose_name = _("game state")
        verbose_name_plural = _("game states")

    def __str__(self) -> str:
        return f"{self.game_id}: {self.version}"
