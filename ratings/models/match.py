from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ratings.systems.openskill import PARAMETERS as OPENSKILL


class Termination(models.TextChoices):
    """How a match ended: a fact that the source gives."""

    NORMAL = "normal", pgettext_lazy("end of a match", "played to the end")
    ABANDONED = "abandoned", pgettext_lazy("end of a match", "abandoned by a player")
    CANCELLED = "cancelled", pgettext_lazy("end of a match", "cancelled before the first card")
    FRIENDLY = "friendly", pgettext_lazy("end of a match", "friendly")


class Status(models.TextChoices):
    """VOID and WAITING are facts; RATED and UNRATED are derived in history order."""

    RATED = "rated", pgettext_lazy("match status", "rated")
    UNRATED = "unrated", pgettext_lazy("match status", "not rated")
    VOID = "void", pgettext_lazy("match status", "void")
    WAITING = "waiting", pgettext_lazy("match status", "waiting")


class Reason(models.TextChoices):
    """Why a match that stands is not rated; derived in history order."""

    CANCELLED = "cancelled", _("It was cancelled before the first card was played.")
    FRIENDLY = "friendly", _("It was a friendly match.")
    SAME_OWNER = "same_owner", _("Two opponents belong to the same account.")
    PAIR_LIMIT = (
        "pair_limit",
        _("The same players already had 20 rated matches in this game in the 24 hours before."),
    )


class Match(models.Model):
    """One complete game as the card room defines it; who took part is in Participation.

    `report` is the canonical report as it was sent, by which a repeated report is recognised.
    `players` are the ids of all who took part, in ascending order: what the pair limit counts.
    """

    game = models.ForeignKey(
        "ratings.Game",
        verbose_name=_("game"),
        on_delete=models.PROTECT,
        related_name="matches",
        db_index=False,
    )
    source = models.ForeignKey(
        "ratings.Source",
        verbose_name=pgettext_lazy("game server", "source"),
        on_delete=models.PROTECT,
        related_name="matches",
        db_index=False,
    )
    external_id = models.CharField(_("id at the source"), max_length=128)
    played_at = models.DateTimeField(_("played at"), help_text=_("When the match ended."))
    received_at = models.DateTimeField(_("received at"), default=timezone.now)
    # Translators: how the match ended: played out, abandoned, cancelled or friendly.
    termination = models.CharField(_("termination"), max_length=10, choices=Termination)
    status = models.CharField(_("status"), max_length=8, choices=Status)
    reason = models.CharField(_("reason"), max_length=12, choices=Reason, blank=True, default="")
    report = models.JSONField(pgettext_lazy("of a match", "report as sent"))
    players = ArrayField(models.BigIntegerField(), verbose_name=_("players"))

    class Meta:
        verbose_name = _("match")
        verbose_name_plural = pgettext_lazy("several", "matches")
        constraints = [
            models.UniqueConstraint(fields=["source", "external_id"], name="match_once_per_source"),
            # The order of history. Unique already by its id; said so, the ledger can refer to it.
            models.UniqueConstraint(fields=["game", "played_at", "id"], name="match_history"),
            models.CheckConstraint(
                name="match_external_id_valid",
                condition=Q(external_id__regex=r"^[A-Za-z0-9._:-]{1,128}$"),
            ),
            models.CheckConstraint(
                name="match_termination_known", condition=Q(termination__in=Termination.values)
            ),
            models.CheckConstraint(
                name="match_status_known", condition=Q(status__in=Status.values)
            ),
            models.CheckConstraint(
                name="match_reason_only_when_unrated",
                condition=Q(status=Status.UNRATED, reason__in=Reason.values)
                | (~Q(status=Status.UNRATED) & Q(reason="")),
            ),
            models.CheckConstraint(
                name="match_two_players_or_more", condition=Q(players__len__gte=2)
            ),
        ]
        indexes = [
            models.Index(
                fields=["players", "game", "played_at"],
                name="match_pair_limit",
                condition=Q(status=Status.RATED),
            ),
            models.Index(
                fields=["game", "played_at", "id"],
                name="match_waiting",
                condition=Q(status=Status.WAITING),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_id}/{self.external_id}"

    def get_absolute_url(self) -> str:
        return reverse("leaderboards:match-detail", args=[self.pk])

    @property
    def is_rated(self) -> bool:
        return self.status == Status.RATED


RATING_FIELDS = (
    "elo_before",
    "mu_before",
    "sigma_before",
    "elo_after",
    "mu_after",
    "sigma_after",
)


class Participation(models.Model):
    """The ledger: one player's part in one match, with both ratings before and after.

    `sigma_before` includes the decay up to the match. The six numbers are all there (the match
    is rated) or all null. `owner` is the player's owner when the report was accepted.
    """

    # One foreign key over (game, played_at, match), in migration 0002, stands for both: the
    # ledger cannot say another game or time than its match, and a row costs one check, not two.
    match = models.ForeignKey(
        Match,
        verbose_name=_("match"),
        on_delete=models.PROTECT,
        related_name="participations",
        db_index=False,
        db_constraint=False,
    )
    game = models.ForeignKey(
        "ratings.Game",
        verbose_name=_("game"),
        on_delete=models.PROTECT,
        db_index=False,
        db_constraint=False,
    )
    played_at = models.DateTimeField(_("played at"))
    player = models.ForeignKey(
        "ratings.Player",
        verbose_name=_("player"),
        on_delete=models.PROTECT,
        related_name="participations",
        db_index=False,
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
    )
    team = models.PositiveSmallIntegerField(_("team"))
    place = models.PositiveIntegerField(pgettext_lazy("in a match", "place"))
    points = models.DecimalField(
        pgettext_lazy("of the cards", "points"), max_digits=9, decimal_places=2, null=True
    )
    elo_before = models.FloatField(null=True)
    mu_before = models.FloatField(null=True)
    sigma_before = models.FloatField(null=True)
    elo_after = models.FloatField(null=True)
    mu_after = models.FloatField(null=True)
    sigma_after = models.FloatField(null=True)

    class Meta:
        # Translators: that a player took part in a match.
        verbose_name = _("participation")
        verbose_name_plural = _("participations")
        constraints = [
            models.UniqueConstraint(fields=["match", "player"], name="participation_once"),
            models.CheckConstraint(name="participation_places", condition=Q(place__gte=1)),
            models.CheckConstraint(name="participation_teams", condition=Q(team__gte=1)),
            models.CheckConstraint(
                name="participation_all_or_nothing",
                condition=Q(**{f"{name}__isnull": True for name in RATING_FIELDS})
                | Q(**{f"{name}__isnull": False for name in RATING_FIELDS}),
            ),
            # BETWEEN refuses infinities and (in PostgreSQL's order) NaN alike.
            models.CheckConstraint(
                name="participation_finite",
                condition=Q(elo_before__isnull=True)
                | Q(
                    elo_before__range=(-1e12, 1e12),
                    elo_after__range=(-1e12, 1e12),
                    mu_before__range=(-1e12, 1e12),
                    mu_after__range=(-1e12, 1e12),
                    sigma_before__range=(1e-12, OPENSKILL.sigma),
                    sigma_after__range=(1e-12, OPENSKILL.sigma),
                ),
            ),
        ]
        indexes = [
            models.Index(
                fields=["player", "game", "played_at", "match"], name="participation_history"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.match_id}: {self.player_id}"

    @property
    def is_rated(self) -> bool:
        return self.elo_after is not None
