from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Source(models.Model):
    """Whoever reports results: a game server, or a file that staff imported."""

    name = models.SlugField(_("name"), max_length=60, unique=True)
    may_create_players = models.BooleanField(
        _("may create players"),
        default=False,
        help_text=_("Whether a player id never seen before makes a new player."),
    )
    games = models.ManyToManyField(
        "ratings.Game",
        verbose_name=_("games"),
        blank=True,
        help_text=_("The games it may report. None chosen: all of them."),
    )
    is_active = models.BooleanField(pgettext_lazy("game server", "active"), default=True)
    is_demo = models.BooleanField(
        _("demo"),
        default=False,
        help_text=_("Its results are made up; every page says so while there are any."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = pgettext_lazy("game server", "source")
        verbose_name_plural = pgettext_lazy("game server", "sources")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
