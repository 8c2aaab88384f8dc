"""The look a reader chose: light, dark, or what the system says. Kept in a cookie of its own."""

from __future__ import annotations

from django.db import models
from django.http import HttpRequest
from django.utils.translation import pgettext_lazy

COOKIE = "theme"


class Theme(models.TextChoices):
    SYSTEM = "system", pgettext_lazy("theme of the site", "as the system")
    LIGHT = "light", pgettext_lazy("theme of the site", "light")
    DARK = "dark", pgettext_lazy("theme of the site", "dark")


def read_theme(request: HttpRequest) -> Theme:
    """What the reader chose; the system's where he chose nothing that we know."""
    chosen = request.COOKIES.get(COOKIE)
    return Theme(chosen) if chosen in Theme.values else Theme.SYSTEM
