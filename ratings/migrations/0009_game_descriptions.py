from django.db import migrations, models
from django.db.migrations.state import StateApps

DESCRIPTIONS = {
    "brisca": (
        "Three cards in the hand and one suit for trumps: a trick is worth the points of its "
        "cards, and the most points win."
    ),
    "tute": (
        "Tricks for points, and more for king and knight of one suit: twenty, or forty in trumps."
    ),
    "cinquillo": (
        "Every suit grows up and down from its five, card by card, and whoever runs out of cards "
        "first comes first."
    ),
    "tute-subastado": (
        "Tute with an auction: whoever bids most plays alone against the rest, and has to make "
        "the points that were bid."
    ),
    "siete-y-media": (
        "Card by card as near to seven and a half as you dare: figures count a half, and whoever "
        "goes over loses the stake."
    ),
}


def describe_games(apps: StateApps, schema_editor: object) -> None:
    Game = apps.get_model("ratings", "Game")
    for slug, description in DESCRIPTIONS.items():
        Game.objects.filter(slug=slug, description="").update(description=description)


class Migration(migrations.Migration):
    dependencies = [("ratings", "0008_changed_at")]

    operations = [
        migrations.AddField(
            "game",
            "description",
            models.CharField(
                blank=True,
                default="",
                help_text=(
                    "A sentence on how it is played, for its board. "
                    "In English; translated through the catalogs."
                ),
                max_length=300,
                verbose_name="description",
            ),
            preserve_default=False,
        ),
        migrations.RunPython(describe_games, migrations.RunPython.noop),
    ]
