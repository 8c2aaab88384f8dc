from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ratings.admin.tables import LargeTableAdmin, ReadOnly
from ratings.models import Rating
from ratings.names import fold


@admin.register(Rating)
class RatingAdmin(ReadOnly, LargeTableAdmin):
    list_display = (
        "player",
        "game",
        "elo_shown",
        "openskill_shown",
        "matches",
        "is_listed",
        "last_played_at",
    )
    list_select_related = ("player", "game")
    list_filter = ("game", "is_bot", "is_listed")
    ordering = ("-id",)
    search_fields = ("player__handle_key",)
    search_help_text = _("The beginning of a handle.")
    fields = (
        ("player", "game"),
        ("elo", "elo_shown"),
        ("mu", "sigma", "sigma_settled"),
        ("openskill", "openskill_shown"),
        ("won", "drawn", "lost"),
        ("peak_elo", "peak_at"),
        ("last_played_at", "is_bot", "is_listed"),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Rating], search_term: str
    ) -> tuple[QuerySet[Rating], bool]:
        if search_term:
            queryset = queryset.filter(player__handle_key__startswith=fold(search_term.strip()))
        return queryset, False

    @admin.display(description=_("matches"))
    def matches(self, rating: Rating) -> int:
        return rating.matches
