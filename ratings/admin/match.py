from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from ratings.admin import correcting, correcting_facts
from ratings.admin.tables import LargeTableAdmin, ReadOnly
from ratings.models import Correction, CorrectionKind, Match, Participation, Source, Status


class ParticipationInline(ReadOnly, admin.TabularInline):
    model = Participation
    # Translators: the players of the match with both ratings before and after.
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
    actions = ("void", "restore")
    fields = (
        ("game", "source", "external_id"),
        ("played_at", "received_at"),
        ("termination", "status", "reason"),
        "report_as_sent",
        "corrections",
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Match], search_term: str
    ) -> tuple[QuerySet[Match], bool]:
        if search_term:
            # With the sources, which are few, so that the index on both is of use.
            sources = list(Source.objects.values_list("pk", flat=True))
            queryset = queryset.filter(source__in=sources, external_id=search_term.strip())
        return queryset, False

    def get_urls(self) -> list[URLPattern]:
        confirm = path(
            "correct/", self.admin_site.admin_view(self.correct_view), name="ratings_match_correct"
        )
        facts = path(
            "<int:match_id>/correct/",
            self.admin_site.admin_view(self.facts_view),
            name="ratings_match_facts",
        )
        return [confirm, facts, *super().get_urls()]

    @method_decorator(require_POST)
    def correct_view(self, request: HttpRequest) -> HttpResponse:
        return correcting.confirm(self, request)

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def facts_view(self, request: HttpRequest, match_id: int) -> HttpResponse:
        if not (self.has_view_permission(request) and self.has_correct_permission(request)):
            raise PermissionDenied
        match = get_object_or_404(Match.objects.select_related("game"), pk=match_id)
        return correcting_facts.correct(self, request, match)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        match = kwargs["obj"]
        # A match that waits is not part of history yet, and cannot be corrected.
        if match.status != Status.WAITING and self.has_correct_permission(request):
            context["facts_url"] = reverse("admin:ratings_match_facts", args=[match.pk])
        return super().render_change_form(request, context, *args, **kwargs)

    def has_correct_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ratings.add_correction")

    @admin.action(description=_("Void the chosen matches …"), permissions=["correct"])
    def void(self, request: HttpRequest, chosen: QuerySet[Match]) -> HttpResponse | None:
        return correcting.ask(self, request, CorrectionKind.VOID, chosen)

    @admin.action(description=_("Restore the chosen matches …"), permissions=["correct"])
    def restore(self, request: HttpRequest, chosen: QuerySet[Match]) -> HttpResponse | None:
        return correcting.ask(self, request, CorrectionKind.RESTORE, chosen)

    @admin.display(description=_("corrections"))
    def corrections(self, match: Match) -> SafeString | str:
        made = Correction.objects.filter(matches__match=match).select_related("made_by")
        return (
            format_html_join(
                mark_safe("<br>"),
                '<a href="{}">{}</a>',
                [
                    (
                        reverse("admin:ratings_correction_change", args=[correction.pk]),
                        f"{correction.made_at:%Y-%m-%d %H:%M} UTC: {correction.get_kind_display()}",
                    )
                    for correction in made
                ],
            )
            or "-"
        )

    # Translators: the report of the match, unchanged, as the game server sent it.
    @admin.display(description=pgettext_lazy("of a match", "report as sent"))
    def report_as_sent(self, match: Match) -> SafeString:
        text = json.dumps(match.report, indent=2, ensure_ascii=False)
        return format_html("<pre>{}</pre>", text)
