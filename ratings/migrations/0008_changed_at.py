from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0007_verify_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="gamestate",
            name="changed_at",
            field=models.DateTimeField(editable=False, null=True, verbose_name="changed at"),
        ),
    ]
