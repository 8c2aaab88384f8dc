from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from ratings.admin.bot import BotAdmin
from ratings.admin.correction import CorrectionAdmin
from ratings.admin.game import GameAdmin
from ratings.admin.job import JobAdmin
from ratings.admin.match import MatchAdmin
from ratings.admin.player import PlayerAdmin
from ratings.admin.rating import RatingAdmin
from ratings.admin.source import SourceAdmin
from ratings.admin.user import UserAdmin
from ratings.admin.verify_run import VerifyRunAdmin

__all__ = [
    "BotAdmin",
    "CorrectionAdmin",
    "GameAdmin",
    "JobAdmin",
    "MatchAdmin",
    "PlayerAdmin",
    "RatingAdmin",
    "SourceAdmin",
    "UserAdmin",
    "VerifyRunAdmin",
]

admin.site.site_header = _("Naiply administration")
admin.site.site_title = _("Naiply administration")
admin.site.index_title = _("The card room")
