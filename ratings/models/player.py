from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext, pgettext_lazy

from ratings.models.handle import handle_taken, is_former_of_another
from ratings.names import (
    LONGEST_HANDLE,
    LONGEST_HANDLE_KEY,
    LONGEST_HANDLE_SKELETON,
    LONGEST_NAME,
    LONGEST_PLAYER_ID,
    LONGEST_PLAYER_ID_KEY,
    fold,
    search_key,
    skeleton,
    validate_handle,
    validate_name,
)


class PlayerStatus(models.TextChoices):
    ACTIVE = "active", pgettext_lazy("player status", "active")
    RETIRED = "retired", pgettext_lazy("player status", "retired")
    FROZEN = "frozen", pgettext_lazy("player status", "frozen")
    HIDDEN = "hidden", pgettext_lazy("player status", "hidden")
    ANONYMISED = "anonymised", pgettext_lazy("player status", "anonymised")


# Of these nothing is shown but that they are here: their matches are part of others' histories.
WITHOUT_PROFILE = (PlayerStatus.HIDDEN, PlayerStatus.ANONYMISED)

SHORTEST_INSIDE = 3
"""So many letters may stand inside a word to find it; fewer only at its beginning."""


class PlayerQuerySet(models.QuerySet["Player"]):
    def with_profile(self) -> PlayerQuerySet:
        """Those who may be shown by name."""
        return self.exclude(status__in=WITHOUT_PROFILE)

    def found_by(self, text: str) -> PlayerQuerySet:
        """Those whose name or handle holds the text, whatever its case and accents; the best
        first: the handle itself, then a beginning of handle or name, then any other place.

        Nobody for a text without a letter or a digit. By the trigram index, which knows words
        by their beginnings from one letter on and their insides from three.
        """
        key = search_key(text)
        if not key.strip():
            return self.none()
        inside = key.strip() if len(key) > SHORTEST_INSIDE else key
        return (
            self.filter(search_key__contains=inside)
            .annotate(
                closeness=Case(
                    When(handle_key=fold(text.strip()), then=Value(0)),
                    When(search_key__startswith=key, then=Value(1)),
                    When(search_key__contains=key, then=Value(2)),
                    default=Value(3),
                )
            )
            .order_by("closeness", "handle_key")
        )


class Player(models.Model):
    """A person or a bot, as the boards show it.

    Rows are never deleted: their matches are part of other players' histories.
    """

    handle = models.CharField(
        _("handle"),
        max_length=LONGEST_HANDLE,
        validators=[validate_handle],
        help_text=_("Part of the URL."),
    )
    # What `names.fold` and `names.skeleton` make of the handle; each is unique on its own.
    handle_key = models.CharField(max_length=LONGEST_HANDLE_KEY, unique=True, editable=False)
    handle_skeleton = models.CharField(
        max_length=LONGEST_HANDLE_SKELETON, unique=True, editable=False
    )
    name = models.CharField(_("name"), max_length=LONGEST_NAME, validators=[validate_name])
    # `names.search_key` of handle and name.
    search_key = models.TextField(editable=False, default="", db_default="")
    is_bot = models.BooleanField(_("bot"), default=False)
    status = models.CharField(
        _("status"), max_length=12, choices=PlayerStatus, default=PlayerStatus.ACTIVE
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="players",
        help_text=_("The account behind a person, or the author of a bot."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = PlayerQuerySet.as_manager()

    class Meta:
        verbose_name = _("player")
        verbose_name_plural = _("players")
        ordering = ["handle_key"]
        constraints = [
            models.CheckConstraint(
                name="player_handle_not_empty", condition=~Q(handle="") & ~Q(handle_key="")
            ),
            # A path made of dots only would climb out of /players/.
            models.CheckConstraint(
                name="player_handle_is_a_path_segment",
                condition=~Q(handle__regex=r"^\.+$") & ~Q(handle__regex=r"[/?#%\\[:space:]]"),
            ),
            models.CheckConstraint(name="player_name_not_empty", condition=~Q(name="")),
            models.CheckConstraint(
                name="player_status_known", condition=Q(status__in=PlayerStatus.values)
            ),
        ]
        indexes = [
            GinIndex(fields=["search_key"], name="player_search", opclasses=["gin_trgm_ops"]),
        ]

    def __str__(self) -> str:
        return self.display_name

    def get_absolute_url(self) -> str:
        return reverse("leaderboards:player-detail", args=[self.handle])

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        self.handle_key = fold(self.handle)
        self.handle_skeleton = skeleton(self.handle)
        self.search_key = search_key(self.handle, self.name)
        super().clean_fields(exclude)

    def clean(self) -> None:
        if is_former_of_another(self.handle, self.pk):
            raise ValidationError({"handle": handle_taken(self.handle)})

    @property
    def display_name(self) -> str:
        """The name, or in the reader's language that the player is gone."""
        if self.status == PlayerStatus.ANONYMISED:
            return pgettext("name of a player", "deleted player")
        return self.name

    @property
    def is_active(self) -> bool:
        return self.status == PlayerStatus.ACTIVE


class PlayerAlias(models.Model):
    """A source's own permanent id for a player."""

    source = models.ForeignKey(
        "ratings.Source",
        verbose_name=pgettext_lazy("game server", "source"),
        on_delete=models.PROTECT,
        related_name="aliases",
    )
    external_id = models.CharField(_("id at the source"), max_length=LONGEST_PLAYER_ID)
    key = models.CharField(max_length=LONGEST_PLAYER_ID_KEY, editable=False)
    player = models.ForeignKey(
        Player, verbose_name=_("player"), on_delete=models.PROTECT, related_name="aliases"
    )

    class Meta:
        # Translators: the name by which a game server knows a player.
        verbose_name = _("player alias")
        verbose_name_plural = _("player aliases")
        constraints = [
            models.UniqueConstraint(fields=["source", "key"], name="alias_once_per_source"),
            models.CheckConstraint(name="alias_key_not_empty", condition=~Q(key="")),
        ]

    def __str__(self) -> str:
        return self.external_id


class Difficulty(models.TextChoices):
    EASY = "easy", pgettext_lazy("bot difficulty", "easy")
    MEDIUM = "medium", pgettext_lazy("bot difficulty", "medium")
    HARD = "hard", pgettext_lazy("bot difficulty", "hard")


class Bot(models.Model):
    """What a bot has beyond a player. Its author is the player's owner; house bots have none."""

    player = models.OneToOneField(
        Player,
        verbose_name=_("player"),
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="bot",
    )
    difficulty = models.CharField(
        _("difficulty"), max_length=8, choices=Difficulty, blank=True, default=""
    )
    is_house = models.BooleanField(_("house bot"), default=False)

    class Meta:
        verbose_name = _("bot")
        verbose_name_plural = _("bots")
        constraints = [
            models.CheckConstraint(
                name="bot_difficulty_known", condition=Q(difficulty__in=["", *Difficulty.values])
            ),
        ]

    def __str__(self) -> str:
        return str(self.player)


class BotVersion(models.Model):
    """A release of a bot; a match counts for the newest version released before it."""

    bot = models.ForeignKey(
        Bot, verbose_name=_("bot"), on_delete=models.PROTECT, related_name="versions"
    )
    # Translators: the name of a bot's version, such as 2.1.
    label = models.CharField(_("label"), max_length=40)
    released_at = models.DateTimeField(_("released at"))

    class Meta:
        verbose_name = _("bot version")
        verbose_name_plural = _("bot versions")
        ordering = [F("released_at").desc(), "-id"]
        constraints = [
            models.UniqueConstraint(fields=["bot", "label"], name="bot_version_label_once"),
        ]

    def __str__(self) -> str:
        return self.label
