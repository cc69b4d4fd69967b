from django.db import migrations, models

# Charts of an installation that runs already begin with what its minutes tell.
FILL = """
    INSERT INTO lifecycle_hourcount (queue, scope, state, hour, entered)
    SELECT queue, scope, state, date_trunc('hour', minute), sum(entered) FROM lifecycle_minutecount
    GROUP BY queue, scope, state, date_trunc('hour', minute)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("lifecycle", "0002_roles"),
    ]

    operations = [
        migrations.CreateModel(
            name="HourCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("queue", models.CharField(max_length=32)),
                ("scope", models.CharField(blank=True, max_length=64)),
                ("state", models.CharField(max_length=32)),
                ("hour", models.DateTimeField()),
                ("entered", models.BigIntegerField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["hour", "queue", "state"], name="hourcount_by_hour")],
                "constraints": [
                    models.UniqueConstraint(fields=("queue", "scope", "state", "hour"), name="one_count_per_hour")
                ],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
