from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class VerifyRun(models.Model):
    """What one verification of a game found. Kept, and never changed."""

    game = models.ForeignKey(
        "ratings.Game", verbose_name=_("game"), on_delete=models.PROTECT, related_name="verify_runs"
    )
    version = models.PositiveBigIntegerField(
        _("version"), help_text=_("The game's, as it was read.")
    )
    started_at = models.DateTimeField(_("started at"))
    finished_at = models.DateTimeField(_("finished at"))
    engine = models.CharField(
        _("engine"), max_length=64, help_text=_("Of the machine that replayed the history.")
    )
    is_exact = models.BooleanField(
        _("compared bit for bit"),
        help_text=_("Otherwise to 1e-9: another machine computed the stored numbers."),
    )
    matches = models.PositiveIntegerField(_("matches"))
    players = models.PositiveIntegerField(_("players"))
    difference_count = models.PositiveIntegerField(_("differences"))
    differences = models.JSONField(_("first differences"), default=list, blank=True)

    class Meta:
        verbose_name = _("verification")
        verbose_name_plural = _("verifications")
        ordering = ["-started_at", "-id"]
        indexes = [models.Index(fields=["game", "-started_at"], name="verify_run_latest")]

    def __str__(self) -> str:
        return f"{self.game_id} {self.version}: {self.difference_count}"

    @property
    def is_clean(self) -> bool:
        return self.difference_count == 0
