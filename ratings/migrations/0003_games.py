"""The five games of the card room."""

from django.db import migrations
from django.db.migrations.state import StateApps

from ratings.systems.decay import current_monday

SOLO, PAIRS, ONE_AGAINST_THE_REST = "solo", "2v2", "1v*"

GAMES = [
    ("brisca", "Brisca", 2, 4, [SOLO, PAIRS], "card-points"),
    ("tute", "Tute", 2, 4, [SOLO, PAIRS], "card-points"),
    ("cinquillo", "Cinquillo", 2, 8, [SOLO], "going-out"),
    ("tute-subastado", "Tute Subastado", 3, 5, [SOLO, ONE_AGAINST_THE_REST], "total-score"),
    ("siete-y-media", "Siete y Media", 2, 10, [SOLO], "chips"),
]


def add_games(apps: StateApps, schema_editor: object) -> None:
    Game = apps.get_model("ratings", "Game")
    GameState = apps.get_model("ratings", "GameState")
    for position, (slug, name, fewest, most, shapes, places_by) in enumerate(GAMES, start=1):
        game = Game.objects.create(
            slug=slug,
            name=name,
            position=position,
            min_players=fewest,
            max_players=most,
            shapes=shapes,
            places_by=places_by,
        )
        GameState.objects.create(game=game, decayed_to=current_monday())


class Migration(migrations.Migration):
    dependencies = [("ratings", "0002_ledger_follows_match")]

    operations = [migrations.RunPython(add_games, migrations.RunPython.noop)]
