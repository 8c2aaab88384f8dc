from __future__ import annotations

import json

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from ratings.admin.tables import LargeTableAdmin, ReadOnly
from ratings.models import Match, Participation, Source


class ParticipationInline(ReadOnly, admin.TabularInline):
    model = Participation
    verbose_name_plural = _("ledger")
    ordering = ("team", "id")
    fields = (
        "team",
        "place",
        "points",
        "player",
        "owner",
        "elo_before",
        "elo_after",
        "mu_before",
        "mu_after",
        "sigma_before",
        "sigma_after",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Participation]:
        # The match and its game are in every row's own text.
        return super().get_queryset(request).select_related("player", "owner", "match", "game")


@admin.register(Match)
class MatchAdmin(ReadOnly, LargeTableAdmin):
    list_display = (
        "id",
        "external_id",
        "source",
        "game",
        "played_at",
        "termination",
        "status",
        "reason",
    )
    list_select_related = ("source", "game")
    list_filter = ("game", "status", "reason", "termination", "source")
    ordering = ("-id",)
    search_fields = ("external_id",)
    search_help_text = _("A whole id at the source, such as srv1-000123.")
    inlines = (ParticipationInline,)
    fields = (
        ("game", "source", "external_id"),
        ("played_at", "received_at"),
        ("termination", "status", "reason"),
        "report_as_sent",
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Match], search_term: str
    ) -> tuple[QuerySet[Match], bool]:
        if search_term:
            # With the sources, which are few, so that the index on both is of use.
            sources = list(Source.objects.values_list("pk", flat=True))
            queryset = queryset.filter(source__in=sources, external_id=search_term.strip())
        return queryset, False

    @admin.display(description=_("report as sent"))
    def report_as_sent(self, match: Match) -> SafeString:
        text = json.dumps(match.report, indent=2, ensure_ascii=False)
        return format_html("<pre>{}</pre>", text)
