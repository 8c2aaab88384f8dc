from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

SILENT_FOR = timedelta(minutes=10)
"""A running job that has said nothing for so long was killed."""


class JobKind(models.TextChoices):
    IMPORT = "import", pgettext_lazy("kind of a job", "import")
    CORRECTION = "correction", pgettext_lazy("kind of a job", "correction")
    RERATING = "rerating", pgettext_lazy("kind of a job", "rating a game again")
    FOLDING = "folding", pgettext_lazy("kind of a job", "placing what waits")


class JobState(models.TextChoices):
    QUEUED = "queued", pgettext_lazy("state of a job", "queued")
    RUNNING = "running", pgettext_lazy("state of a job", "running")
    DONE = "done", pgettext_lazy("state of a job", "done")
    FAILED = "failed", pgettext_lazy("state of a job", "failed: nothing was changed")


class Job(models.Model):
    """Something that takes long, and how far it is; written by `ratings.jobs` alone.

    What it does is one transaction: a job that failed or was interrupted has changed nothing,
    and can simply be run again.
    """

    kind = models.CharField(_("kind"), max_length=10, choices=JobKind)
    what = models.CharField(
        pgettext_lazy("of a job", "what"),
        max_length=200,
        help_text=_("The file, or the game or games."),
    )
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("made by"),
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
    )
    state = models.CharField(_("state"), max_length=7, choices=JobState, default=JobState.QUEUED)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    order = models.JSONField(
        null=True,
        editable=False,
        help_text=_("What a worker is to do; empty where whoever began it does it."),
    )
    result = models.TextField(_("result"), blank=True, default="")
    started_at = models.DateTimeField(_("started at"), default=timezone.now)
    updated_at = models.DateTimeField(_("last heard of"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished at"), null=True)

    class Meta:
        verbose_name = pgettext_lazy("long work", "job")
        verbose_name_plural = pgettext_lazy("long work", "jobs")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(name="job_kind_known", condition=Q(kind__in=JobKind.values)),
            models.CheckConstraint(name="job_state_known", condition=Q(state__in=JobState.values)),
            models.CheckConstraint(name="job_within_total", condition=Q(done__lte=F("total"))),
            models.CheckConstraint(
                name="job_finished_or_not",
                condition=Q(state__in=[JobState.DONE, JobState.FAILED])
                ^ Q(finished_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.what}"

    @property
    def share(self) -> float | None:
        """How much of it is done, 0 to 1; None where that is not known."""
        if self.state == JobState.DONE:
            return 1.0
        return self.done / self.total if self.total else None

    @property
    def is_over(self) -> bool:
        return self.finished_at is not None

    def is_interrupted(self, at: datetime | None = None) -> bool:
        """Whether whoever ran it is gone: it has said nothing for long, and nothing is changed."""
        silent = (at or timezone.now()) - self.updated_at
        return self.state == JobState.RUNNING and silent > SILENT_FOR
