from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class CorrectionKind(models.TextChoices):
    VOID = "void", pgettext_lazy("what staff did to a match", "voided")
    RESTORE = "restore", pgettext_lazy("what staff did to a match", "restored")
    CORRECT = "correct", pgettext_lazy("what staff did to a match", "corrected")


class CorrectionReason(models.TextChoices):
    """The public reasons; whatever else there is to say goes into the private note."""

    WRONG_RESULT = "wrong_result", _("The result was reported wrongly.")
    SERVER_FAULT = "server_fault", _("The game server had a fault.")
    TEST_MATCH = "test_match", _("It was a test, not a match between players.")
    DUPLICATE = "duplicate", _("The same match had been reported twice.")
    FAIR_PLAY = "fair_play", _("It was not played fairly.")
    FORGED = "forged", _("The report was forged.")
    MISTAKE = "mistake", _("An earlier correction was a mistake.")


class Correction(models.Model):
    """What staff changed in a game's history at once, and why. Never changed itself."""

    game = models.ForeignKey(
        "ratings.Game", verbose_name=_("game"), on_delete=models.PROTECT, related_name="corrections"
    )
    kind = models.CharField(
        pgettext_lazy("of a correction", "kind"), max_length=8, choices=CorrectionKind
    )
    reason = models.CharField(_("public reason"), max_length=16, choices=CorrectionReason)
    note = models.TextField(_("private note"), blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("made by"),
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
    )
    made_at = models.DateTimeField(_("made at"), default=timezone.now)
    rerated = models.PositiveIntegerField(_("matches rated again"))

    class Meta:
        verbose_name = _("correction")
        verbose_name_plural = _("corrections")
        ordering = ["-made_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="correction_kind_known", condition=Q(kind__in=CorrectionKind.values)
            ),
            models.CheckConstraint(
                name="correction_reason_known", condition=Q(reason__in=CorrectionReason.values)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.game_id}: {self.kind} {self.made_at:%Y-%m-%d %H:%M}"


class CorrectedMatch(models.Model):
    """One match of a correction, as it was and as it became: status, time, end and teams."""

    correction = models.ForeignKey(
        Correction, verbose_name=_("correction"), on_delete=models.PROTECT, related_name="matches"
    )
    match = models.ForeignKey(
        "ratings.Match",
        verbose_name=_("match"),
        on_delete=models.PROTECT,
        related_name="corrections",
    )
    before = models.JSONField(pgettext_lazy("correction", "before"))
    after = models.JSONField(pgettext_lazy("correction", "after"))

    class Meta:
        verbose_name = _("corrected match")
        verbose_name_plural = _("corrected matches")
        constraints = [
            models.UniqueConstraint(fields=["correction", "match"], name="corrected_once_at_a_time")
        ]

    def __str__(self) -> str:
        return f"{self.correction_id}: {self.match_id}"
