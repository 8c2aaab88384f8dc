"""What the admin pages of the domain have in common."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

MOST_LISTED = 10_000


class BoundedPaginator(Paginator):
    """Counts no further than MOST_LISTED: a count reads every row, and a far page does too."""

    @cached_property
    def count(self) -> int:
        count: int = self.object_list.order_by()[:MOST_LISTED].count()
        return count


class LargeTableAdmin(admin.ModelAdmin):
    """A list that costs the same with a thousand rows and with ten million."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    list_per_page = 50

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        subtitle = _("At most %(most)s are listed: search or filter for others.") % {
            "most": f"{MOST_LISTED:,}"
        }
        return super().changelist_view(request, {"subtitle": subtitle} | (extra_context or {}))


class Undeletable:
    """For what histories, sign-ins or receipts hang on: nothing is deleted, one by one or many."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(Undeletable):
    """For what only recording and history may write."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
