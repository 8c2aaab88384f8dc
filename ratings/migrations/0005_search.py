"""What players are searched by, and the trigram index that finds it."""

from itertools import batched

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

from ratings.names import search_key

ROWS_AT_A_TIME = 5_000


def fill_search_keys(apps, schema_editor):
    player_model = apps.get_model("ratings", "Player")
    players = player_model.objects.only("handle", "name").order_by("pk")
    for batch in batched(players.iterator(chunk_size=ROWS_AT_A_TIME), ROWS_AT_A_TIME):
        for player in batch:
            player.search_key = search_key(player.handle, player.name)
        player_model.objects.bulk_update(batch, ["search_key"])


class Migration(migrations.Migration):
    dependencies = [("ratings", "0004_corrections")]

    operations = [
        TrigramExtension(),
        migrations.AddField(
            model_name="player",
            name="search_key",
            field=models.TextField(default="", db_default="", editable=False),
        ),
        migrations.RunPython(fill_search_keys, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="player",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["search_key"], name="player_search", opclasses=["gin_trgm_ops"]
            ),
        ),
    ]
