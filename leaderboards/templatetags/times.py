"""Moments as people read them: Madrid's clock, with the zone named."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils.dateformat import format as format_date
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import pgettext

register = template.Library()


@register.simple_tag
def moment(value: datetime) -> SafeString:
    """Day and time, such as 29 Nov 2026, 19:00 CET."""
    # Translators: day, month (b: not capitalised), year, and time with zone, in Django's letters.
    return _element(value, pgettext("date format", "j M Y, H:i T"))


@register.simple_tag
def day(value: datetime) -> SafeString:
    """The day only; what shows it says of which zone."""
    return _element(value, pgettext("date format", "j M Y"))


@register.simple_tag
def short_day(value: datetime) -> str:
    """The day only, as plain text: for a chart."""
    return format_date(localtime(value), pgettext("date format", "j M Y"))


def _element(value: datetime, form: str) -> SafeString:
    return format_html(
        '<time datetime="{}">{}</time>',
        value.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        format_date(localtime(value), form),
    )
