from django.db import migrations

# The same rule by an index without the rows that replace none, which are nearly all: a move does not write into it.
UNIQUE = [
    "DROP INDEX CONCURRENTLY IF EXISTS one_replacement",
    """
    CREATE UNIQUE INDEX CONCURRENTLY one_replacement ON offline_conversion_queue (replaces_id)
    WHERE replaces_id IS NOT NULL
    """,
]
DROP = "ALTER TABLE offline_conversion_queue DROP CONSTRAINT IF EXISTS offline_conversion_queue_replaces_id_key"


class Migration(migrations.Migration):
    atomic = False  # an index is built beside writers

    dependencies = [("ociqueue", "0034_searched_by_key")]

    operations = [
        migrations.RunSQL(UNIQUE, "DROP INDEX CONCURRENTLY one_replacement"),
        migrations.RunSQL(
            DROP,
            "ALTER TABLE offline_conversion_queue"
            " ADD CONSTRAINT offline_conversion_queue_replaces_id_key UNIQUE (replaces_id)",
        ),
    ]
