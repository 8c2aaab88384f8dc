from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ratings.admin.tables import Undeletable
from ratings.decay import relist_game
from ratings.models import Game

STATE = ("version", "decayed_to", "engine")


@admin.register(Game)
class GameAdmin(Undeletable, admin.ModelAdmin):
    list_display = ("name", "slug", "position", "min_players", "max_players", "idle_days")
    show_facets = admin.ShowFacets.NEVER

    def get_fieldsets(self, request: HttpRequest, obj: Game | None = None) -> list[Any]:
        fieldsets = [
            (None, {"fields": ("name", "description", "slug", "position", "play_url")}),
            (_("Rules"), {"fields": ("min_players", "max_players", "shapes", "places_by")}),
            (pgettext_lazy("leaderboard", "Board"), {"fields": ("idle_days",)}),
        ]
        return (
            fieldsets
            if obj is None
            # Translators: heading of the fields that the site keeps for itself: version, decay,
            # engine.
            else [*fieldsets, (pgettext_lazy("of a game", "State"), {"fields": STATE})]
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Game | None = None) -> tuple[str, ...]:
        # The slug stands in addresses, in reports and in the sources' servers.
        return () if obj is None else ("slug", *STATE)

    def save_model(self, request: HttpRequest, obj: Game, form: ModelForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and form.has_changed():
            relist_game(obj)

    @admin.display(description=_("version"))
    def version(self, game: Game) -> int:
        return game.state.version

    @admin.display(description=_("decayed to"))
    def decayed_to(self, game: Game) -> datetime:
        return game.state.decayed_to

    @admin.display(description=_("engine"))
    def engine(self, game: Game) -> str:
        return game.state.engine
