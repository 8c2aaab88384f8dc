from django.urls import URLPattern, path, register_converter

from leaderboards.converters import HandleConverter
from leaderboards.views.badge import badge
from leaderboards.views.board import board
from leaderboards.views.bots import bots
from leaderboards.views.calculators import calculators
from leaderboards.views.compare import compare
from leaderboards.views.embed import embed
from leaderboards.views.faq import faq
from leaderboards.views.home import home
from leaderboards.views.how_it_works import how_it_works
from leaderboards.views.match import match
from leaderboards.views.player import player, player_game
from leaderboards.views.translations import translation, translations
from leaderboards.views.verify import verify

register_converter(HandleConverter, "handle")

app_name = "leaderboards"

urlpatterns: list[URLPattern] = [
    path("", home, name="home"),
    path("leaderboards/<slug:slug>/", board, name="board"),
    path("players/<handle:handle>/", player, name="player-detail"),
    path("players/<handle:handle>/<slug:slug>/", player_game, name="player-game"),
    path("compare/<slug:slug>/", compare, name="compare"),
    path("matches/<int:match_id>/", match, name="match-detail"),
    path("how-it-works/", how_it_works, name="how-it-works"),
    path("faq/", faq, name="faq"),
    path("calculators/", calculators, name="calculators"),
    path("bots/", bots, name="bots"),
    path("verify/", verify, name="verify"),
    path("translations/", translations, name="translations"),
    path("translations/<slug:language>/", translation, name="translation"),
    path("badge/<handle:handle>/<slug:slug>.svg", badge, name="badge"),
    path("embed/<slug:slug>/", embed, name="embed"),
]
