from __future__ import annotations

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from ratings.admin.tables import LargeTableAdmin, ReadOnly
from ratings.models import VerifyRun


@admin.register(VerifyRun)
class VerifyRunAdmin(ReadOnly, LargeTableAdmin):
    list_display = (
        "started_at",
        "game",
        "version",
        "matches",
        "players",
        "is_exact",
        "difference_count",
    )
    list_select_related = ("game",)
    list_filter = ("game",)
    ordering = ("-id",)
    fields = (
        ("game", "version", "engine"),
        ("started_at", "finished_at"),
        ("matches", "players", "is_exact"),
        ("difference_count", "first_differences"),
    )
    readonly_fields = ("first_differences",)

    @admin.display(description=_("first differences"))
    def first_differences(self, run: VerifyRun) -> SafeString:
        lines = format_html_join("", "<li>{}</li>", [[text] for text in run.differences])
        return format_html("<ul>{}</ul>", lines)
