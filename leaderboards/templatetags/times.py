"""Moments as people read them: Madrid's clock, with the zone named."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils.dateformat import format as format_date
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import pgettext, pgettext_lazy

register = template.Library()

# The months as a full date has them, which Django writes for "E" in a format. They are its own
# words; ours come first, because its Catalan lacks the "d'" of "2 d'agost".
MONTHS_IN_A_DATE = (
    # Translators: months as they stand within a full date, after the day or before it, with
    # whatever belongs to them there: "d'agost", "de agosto", "abuztuaren".
    pgettext_lazy("alt. month", "January"),
    pgettext_lazy("alt. month", "February"),
    pgettext_lazy("alt. month", "March"),
    pgettext_lazy("alt. month", "April"),
    pgettext_lazy("alt. month", "May"),
    pgettext_lazy("alt. month", "June"),
    pgettext_lazy("alt. month", "July"),
    pgettext_lazy("alt. month", "August"),
    pgettext_lazy("alt. month", "September"),
    pgettext_lazy("alt. month", "October"),
    pgettext_lazy("alt. month", "November"),
    pgettext_lazy("alt. month", "December"),
)


@register.simple_tag
def moment(value: datetime) -> SafeString:
    """Day and time, such as 29 Nov 2026, 19:00 CET."""
    # Translators: a day with its time and zone, in the letters of Django's date formats: j day,
    # E month as in a full date, b month in short, Y year, H:i time, T zone. A backslash makes a
    # letter stand for itself, as in "j E \\d\\e Y".
    return _element(value, pgettext("date format", "j M Y, H:i T"))


@register.simple_tag
def day(value: datetime) -> SafeString:
    """The day only; what shows it says of which zone."""
    # Translators: a day in a sentence, as your language writes it in full.
    return _element(value, pgettext("date format", "j M Y"))


@register.simple_tag
def short_day(value: datetime) -> SafeString:
    """The day only, where there is little room, as in a column of numbers."""
    day = localtime(value)
    return format_html(
        '<time datetime="{}">{}</time>', day.date().isoformat(), format_date(day, _short_format())
    )


@register.simple_tag
def plain_day(value: datetime) -> str:
    """The same as plain text: for a chart."""
    return format_date(localtime(value), _short_format())


def _short_format() -> str:
    # Translators: a day where there is little room, as short as your language allows.
    return pgettext("short date format", "j M Y")


def _element(value: datetime, form: str) -> SafeString:
    return format_html(
        '<time datetime="{}">{}</time>',
        value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        format_date(localtime(value), form),
    )
