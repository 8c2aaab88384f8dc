from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ratings.admin.tables import LargeTableAdmin, ReadOnly, Undeletable
from ratings.models import Player, PlayerAlias, Rating
from ratings.models.player import PlayerQuerySet
from ratings.players import rename_player


class AliasInline(ReadOnly, admin.TabularInline):
    model = PlayerAlias
    fields = ("source", "external_id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PlayerAlias]:
        return super().get_queryset(request).select_related("source")


class RatingInline(ReadOnly, admin.TabularInline):
    model = Rating
    fields = ("game", "elo_shown", "openskill_shown", "won", "drawn", "lost", "is_listed")
    readonly_fields = fields  # a generated column may not even be asked for in a form

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rating]:
        return super().get_queryset(request).select_related("game")


@admin.register(Player)
class PlayerAdmin(Undeletable, LargeTableAdmin):
    """People come with their first result, bots by their own form."""

    list_display = ("handle", "name", "is_bot", "status", "owner", "created_at")
    list_select_related = ("owner",)
    list_filter = ("is_bot", "status")
    ordering = ("-id",)
    search_fields = ("search_key",)
    search_help_text = _("Part of a handle or of a name.")
    fields = ("handle", "name", "is_bot", "status", "owner", "created_at")
    readonly_fields = ("handle", "is_bot", "status", "owner", "created_at")
    inlines = (RatingInline, AliasInline)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: PlayerQuerySet, search_term: str
    ) -> tuple[QuerySet[Player], bool]:
        return (queryset.found_by(search_term) if search_term else queryset), False

    def save_model(self, request: HttpRequest, obj: Player, form: ModelForm, change: bool) -> None:
        if form.has_changed():
            rename_player(obj, name=form.cleaned_data["name"])
