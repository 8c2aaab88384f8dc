from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import admin as auth_admin

from ratings.admin.tables import Undeletable
from ratings.models import User


@admin.register(User)
class UserAdmin(Undeletable, auth_admin.UserAdmin):
    """Accounts are made inactive, not deleted: the ledger says who answered for a player."""

    show_facets = admin.ShowFacets.NEVER
