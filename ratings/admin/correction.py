from __future__ import annotations

from django.contrib import admin
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from ratings.admin.changed_facts import changes_between
from ratings.admin.tables import LargeTableAdmin, ReadOnly
from ratings.models import Correction

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
        described = list(correction.matches.order_by("match_id")[:MOST_MATCHES])
        changes = changes_between((match.before, match.after) for match in described)
        return render_to_string(
            "admin/ratings/correction/matches.html",
            {
                "matches": [
                    (match.match_id, changed)
                    for match, changed in zip(described, changes, strict=True)
                ],
                "left": max(0, correction.matches.count() - MOST_MATCHES),
            },
        )
