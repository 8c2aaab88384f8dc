from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import ForeignKeyRawIdWidget
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from ratings.admin.tables import LargeTableAdmin, Undeletable
from ratings.models import Bot, BotVersion, Player, PlayerAlias, Source, User
from ratings.names import fold
from ratings.players import create_bot
from ratings.roster import announce_player, check_player


class NewBotForm(forms.ModelForm):
    handle = forms.CharField(label=_("handle"), max_length=40, help_text=_("Part of the URL."))
    name = forms.CharField(label=_("name"), max_length=64)
    author = forms.ModelChoiceField(
        label=_("author"),
        queryset=User.objects.all(),
        required=False,
        widget=ForeignKeyRawIdWidget(Player._meta.get_field("owner").remote_field, admin.site),
        help_text=_("The account behind the bot. Empty: a house bot."),
    )
    source = forms.ModelChoiceField(
        # Translators: a game server that reports matches.
        label=pgettext_lazy("game server", "source"),
        queryset=Source.objects.all(),
        required=False,
        help_text=_("Who reports its matches, under its handle. Empty: nobody yet."),
    )

    class Meta:
        model = Bot
        fields = ("difficulty",)

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if "handle" in data and "name" in data:
            self._check_source(data["handle"], data.get("source"))
            self._check_player(Player(handle=data["handle"], name=data["name"], is_bot=True))
        return data

    def _check_player(self, player: Player) -> None:
        try:
            check_player(player)
        except ValidationError as error:
            for field, problems in error.message_dict.items():
                self.add_error(field if field in self.fields else None, problems)

    def _check_source(self, handle: str, source: Source | None) -> None:
        if PlayerAlias.objects.filter(source=source, key=fold(handle)).exists():
            problem = gettext('The source reports another player as "%(handle)s".')
            self.add_error("source", problem % {"handle": handle})


class VersionInline(Undeletable, admin.TabularInline):
    model = BotVersion
    extra = 0


@admin.register(Bot)
class BotAdmin(Undeletable, LargeTableAdmin):
    list_display = ("player", "difficulty", "is_house", "author")
    list_select_related = ("player__owner",)
    list_filter = ("difficulty", "is_house")
    ordering = ("player__handle_key",)
    readonly_fields = ("player", "is_house", "author")
    inlines = (VersionInline,)

    def get_form(
        self, request: HttpRequest, obj: Bot | None = None, change: bool = False, **options: Any
    ) -> type[forms.ModelForm]:
        if obj is None:
            options["form"] = NewBotForm
        return super().get_form(request, obj, change, **options)

    def get_fields(self, request: HttpRequest, obj: Bot | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("handle", "name", "difficulty", "author", "source")
        return ("player", "difficulty", "is_house", "author")

    def get_readonly_fields(self, request: HttpRequest, obj: Bot | None = None) -> tuple[str, ...]:
        return () if obj is None else self.readonly_fields

    def save_model(self, request: HttpRequest, obj: Bot, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        data = form.cleaned_data
        bot = create_bot(
            handle=data["handle"],
            name=data["name"],
            difficulty=data["difficulty"],
            author=data["author"],
            source=data["source"],
        )
        # The admin goes on with its own object: the log and the versions hang on it.
        obj.player, obj.is_house = bot.player, bot.is_house

    def save_related(
        self, request: HttpRequest, form: Any, formsets: list[Any], change: bool
    ) -> None:
        super().save_related(request, form, formsets, change)
        if change and (form.has_changed() or any(formset.has_changed() for formset in formsets)):
            announce_player(player=form.instance.player)

    @admin.display(description=_("author"))
    def author(self, bot: Bot) -> User | None:
        return bot.player.owner
