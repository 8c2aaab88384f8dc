from django.urls import URLPattern, path, register_converter

from leaderboards.converters import HandleConverter
from leaderboards.views.board import board
from leaderboards.views.home import home
from leaderboards.views.how_it_works import how_it_works
from leaderboards.views.match import match
from leaderboards.views.player import player, player_game

register_converter(HandleConverter, "handle")

app_name = "leaderboards"

urlpatterns: list[URLPattern] = [
    path("", home, name="home"),
    path("leaderboards/<slug:slug>/", board, name="board"),
    path("players/<handle:handle>/", player, name="player-detail"),
    path("players/<handle:handle>/<slug:slug>/", player_game, name="player-game"),
    path("matches/<int:match_id>/", match, name="match-detail"),
    path("how-it-works/", how_it_works, name="how-it-works"),
]
