from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from ratings.admin.tables import Undeletable
from ratings.models import Source


@admin.register(Source)
class SourceAdmin(Undeletable, admin.ModelAdmin):
    list_display = ("name", "is_active", "may_create_players", "is_demo", "created_at")
    show_facets = admin.ShowFacets.NEVER
    fields = ("name", "is_active", "may_create_players", "games", "is_demo", "created_at")
    filter_horizontal = ("games",)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Source | None = None
    ) -> tuple[str, ...]:
        # Commands and servers know a source by its name; what is made up stays so.
        return ("is_demo", "created_at") if obj is None else ("name", "is_demo", "created_at")
