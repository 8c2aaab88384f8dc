from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from ratings.admin.tables import LargeTableAdmin, ReadOnly
from ratings.models import Job, JobState

SECONDS_BETWEEN_LOOKS = 3


@admin.register(Job)
class JobAdmin(ReadOnly, LargeTableAdmin):
    list_display = ("started_at", "kind", "what", "how_far", "took", "made_by")
    list_select_related = ("made_by",)
    list_filter = ("kind", "state")
    ordering = ("-id",)
    fields = (
        ("kind", "what"),
        ("how_far", "took"),
        "result",
        ("started_at", "updated_at", "finished_at"),
        "made_by",
    )
    readonly_fields = ("how_far", "took")

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The job; as long as it runs, the page looks again by itself."""
        response = super().change_view(request, object_id, form_url, extra_context)
        job = self.get_object(request, object_id)
        if job is not None and not (job.is_over or job.is_interrupted()):
            response["Refresh"] = str(SECONDS_BETWEEN_LOOKS)
        return response

    @admin.display(description=gettext_lazy("state"))
    def how_far(self, job: Job) -> str:
        if job.is_interrupted():
            return pgettext("state of a job", "interrupted: nothing was changed, run it again")
        state = job.get_state_display()
        if job.state == JobState.RUNNING and job.share is not None:
            percent = formats.number_format(job.share * 100, decimal_pos=0)
            # Translators: how far a job is, such as "running, 40 %".
            return _("%(state)s, %(percent)s\u00a0%%") % {"state": state, "percent": percent}
        return state

    @admin.display(description=gettext_lazy("took"))
    def took(self, job: Job) -> str:
        seconds = ((job.finished_at or job.updated_at) - job.started_at).total_seconds()
        # Translators: how long a job took, in seconds.
        return _("%(seconds)s s") % {"seconds": formats.number_format(seconds, decimal_pos=1)}
