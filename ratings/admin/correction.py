from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratings.admin.tables import LargeTableAdmin, ReadOnly
from ratings.models import CorrectedMatch, Correction

MOST_MATCHES = 100
"""So many matches of a correction are described on its page."""


@admin.register(Correction)
class CorrectionAdmin(ReadOnly, LargeTableAdmin):
    list_display = ("made_at", "game", "kind", "reason", "made_by", "rerated")
    list_select_related = ("game", "made_by")
    list_filter = ("game", "kind", "reason")
    ordering = ("-id",)
    fields = (
        ("game", "kind", "reason"),
        ("made_by", "made_at", "rerated"),
        "note",
        "corrected_matches",
    )
    readonly_fields = ("corrected_matches",)

    @admin.display(description=_("matches"))
    def corrected_matches(self, correction: Correction) -> SafeString:
        described = correction.matches.order_by("match_id")
        lines = format_html_join(
            "",
            '<li><a href="{}">{}</a>: {}</li>',
            [
                (
                    reverse("admin:ratings_match_change", args=[corrected.match_id]),
                    corrected.match_id,
                    ", ".join(differences(corrected)),
                )
                for corrected in described[:MOST_MATCHES]
            ],
        )
        left = described.count() - MOST_MATCHES
        if left > 0:
            # Translators: after a list that was cut.
            more = ngettext("and %(count)s more", "and %(count)s more", left)
            lines += format_html("<li>{}</li>", more % {"count": f"{left:,}"})
        return format_html("<ul>{}</ul>", lines)


def differences(corrected: CorrectedMatch) -> list[str]:
    """What the correction changed of a match, fact by fact."""
    return [
        # Translators: what a correction changed; the fact is a word of the report, such as places.
        gettext("%(fact)s from %(before)s to %(after)s")
        % {"fact": fact, "before": _text(corrected.before[fact]), "after": _text(after)}
        for fact, after in corrected.after.items()
        if corrected.before[fact] != after
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
