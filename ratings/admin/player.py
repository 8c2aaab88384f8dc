from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ratings import roster
from ratings.admin.tables import LargeTableAdmin, ReadOnly, Undeletable
from ratings.models import FormerHandle, Player, PlayerAlias, PlayerStatus, Rating
from ratings.models.player import PlayerQuerySet

MOST_PLAYERS = 100
"""So many players at once: each of them takes the locks of all games for a moment."""


class PlayerForm(forms.ModelForm):
    def _post_clean(self) -> None:
        super()._post_clean()
        if not self.errors:
            try:
                roster.check_player(self.instance)
            except ValidationError as error:
                self.add_error(None, error)


class AliasForm(forms.ModelForm):
    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if "source" in data and "external_id" in data:
            try:
                roster.check_alias(
                    player=self.instance.player,
                    source=data["source"],
                    external_id=data["external_id"],
                )
            except ValidationError as error:
                self.add_error("external_id", error)
        return data


class AliasInline(Undeletable, admin.TabularInline):
    """The ids that sources know the player by; more may be joined, none taken away."""

    model = PlayerAlias
    form = AliasForm
    fields = ("source", "external_id")
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[PlayerAlias]:
        return super().get_queryset(request).select_related("source")

    def has_add_permission(self, request: HttpRequest, obj: Player | None = None) -> bool:
        return is_changeable(obj) and request.user.has_perm("ratings.change_player")

    def has_change_permission(self, request: HttpRequest, obj: Player | None = None) -> bool:
        return False


class FormerHandleInline(ReadOnly, admin.TabularInline):
    model = FormerHandle
    fields = ("handle", "since")


class RatingInline(ReadOnly, admin.TabularInline):
    model = Rating
    fields = ("game", "elo_shown", "openskill_shown", "won", "drawn", "lost", "is_listed")
    readonly_fields = fields  # a generated column may not even be asked for in a form

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rating]:
        return super().get_queryset(request).select_related("game")


@admin.register(Player)
class PlayerAdmin(Undeletable, LargeTableAdmin):
    """People come with their first result, bots by their own form."""

    form = PlayerForm
    list_display = ("handle", "name", "is_bot", "status", "owner", "created_at")
    list_select_related = ("owner",)
    list_filter = ("is_bot", "status")
    ordering = ("-id",)
    search_fields = ("search_key",)
    search_help_text = gettext_lazy("Part of a handle or of a name.")
    fields = ("handle", "name", "is_bot", "owner", "status", "created_at")
    readonly_fields = ("status", "created_at")
    raw_id_fields = ("owner",)
    inlines = (RatingInline, AliasInline, FormerHandleInline)
    actions = ("retire", "freeze", "hide", "reactivate", "anonymise")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Player | None = None) -> bool:
        return is_changeable(obj) and super().has_change_permission(request, obj)

    def get_search_results(
        self, request: HttpRequest, queryset: PlayerQuerySet, search_term: str
    ) -> tuple[QuerySet[Player], bool]:
        return (queryset.found_by(search_term) if search_term else queryset), False

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Says what to do instead."""
        return TemplateResponse(
            request,
            "admin/ratings/player/undeletable.html",
            {
                **self.admin_site.each_context(request),
                "title": _("Players are not deleted"),
                "opts": self.opts,
            },
            status=403,
        )

    def save_model(self, request: HttpRequest, obj: Player, form: ModelForm, change: bool) -> None:
        data, changed = form.cleaned_data, set(form.changed_data)
        if changed & {"handle", "name"}:
            roster.rename_player(player=obj, handle=data["handle"], name=data["name"])
        if "owner" in changed:
            roster.change_owner(player=obj, owner=data["owner"])
        if "is_bot" in changed:
            roster.change_kind(player=obj, is_bot=data["is_bot"])

    def save_formset(
        self, request: HttpRequest, form: ModelForm, formset: Any, change: bool
    ) -> None:
        for alias in formset.save(commit=False):
            roster.add_alias(
                player=form.instance, source=alias.source, external_id=alias.external_id
            )

    @admin.action(
        description=gettext_lazy("Retire: off the boards, may play on"), permissions=["change"]
    )
    def retire(self, request: HttpRequest, chosen: QuerySet[Player]) -> None:
        self.change_each(request, chosen, roster.retire_player)

    @admin.action(
        description=gettext_lazy("Freeze: off the boards, may not play"), permissions=["change"]
    )
    def freeze(self, request: HttpRequest, chosen: QuerySet[Player]) -> None:
        self.change_each(request, chosen, roster.freeze_player)

    @admin.action(
        description=gettext_lazy("Hide: off the boards and out of sight"), permissions=["change"]
    )
    def hide(self, request: HttpRequest, chosen: QuerySet[Player]) -> None:
        self.change_each(request, chosen, roster.hide_player)

    @admin.action(description=gettext_lazy("Back to active"), permissions=["change"])
    def reactivate(self, request: HttpRequest, chosen: QuerySet[Player]) -> None:
        self.change_each(request, chosen, roster.reactivate_player)

    @admin.action(description=gettext_lazy("Anonymise, for good …"), permissions=["change"])
    def anonymise(self, request: HttpRequest, chosen: QuerySet[Player]) -> HttpResponse | None:
        if request.POST.get("confirmed") == "yes":
            self.change_each(request, chosen, roster.anonymise_player)
            return None
        players = list(chosen[: MOST_PLAYERS + 1])
        if len(players) > MOST_PLAYERS:
            self.message_user(request, too_many(), messages.ERROR)
            return None
        return TemplateResponse(
            request,
            "admin/ratings/player/anonymise.html",
            {
                **self.admin_site.each_context(request),
                "title": _("Anonymise players"),
                "opts": self.opts,
                "players": players,
                "checkbox": ACTION_CHECKBOX_NAME,
            },
        )

    def change_each(
        self, request: HttpRequest, chosen: QuerySet[Player], change: Callable[..., None]
    ) -> None:
        players = list(chosen[: MOST_PLAYERS + 1])
        if len(players) > MOST_PLAYERS:
            self.message_user(request, too_many(), messages.ERROR)
            return
        changed = 0
        for player in players:
            try:
                change(player=player)
            except ValidationError as error:
                problem = f"{player.handle}: {' '.join(error.messages)}"
                self.message_user(request, problem, messages.ERROR)
                continue
            self.log_change(request, player, [{"changed": {"fields": ["status"]}}])
            changed += 1
        if changed:
            done = ngettext("%(count)d player changed.", "%(count)d players changed.", changed)
            self.message_user(request, done % {"count": changed}, messages.SUCCESS)


def is_changeable(player: Player | None) -> bool:
    """Nothing of an anonymised player changes any more."""
    return player is None or player.status != PlayerStatus.ANONYMISED


def too_many() -> str:
    return _("At most %(most)d players at once: choose fewer.") % {"most": MOST_PLAYERS}
