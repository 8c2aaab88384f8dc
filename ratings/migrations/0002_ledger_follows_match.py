"""The ledger's foreign key to the place of its match in history; Django's have one column."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ratings", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """
            ALTER TABLE ratings_participation ADD CONSTRAINT participation_follows_match
                FOREIGN KEY (game_id, played_at, match_id)
                REFERENCES ratings_match (game_id, played_at, id)
                ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED
            """,
            "ALTER TABLE ratings_participation DROP CONSTRAINT participation_follows_match",
        )
    ]
