"""How PostgreSQL keeps the queue: vacuumed in small steps however many finished rows there are."""

from django.db import migrations

# table: its settings, and why
STORAGE = {
    # Every move leaves a dead row and dead index entries, which claims walk past: a hundredth of the table is enough to
    # clean up. No fillfactor: `status` is in indexes, so no move can stay on its page without writing them.
    "offline_conversion_queue": "autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.02,"
    " autovacuum_analyze_scale_factor = 0.01",
    # Each export and acknowledgement notes its time here.
    "ociqueue_site": "fillfactor = 50",
}


def names(settings: str) -> str:
    return ", ".join(part.split("=")[0].strip() for part in settings.split(","))


class Migration(migrations.Migration):

    dependencies = [("ociqueue", "0004_pruning")]

    operations = [
        migrations.RunSQL(f"ALTER TABLE {table} SET ({settings})", f"ALTER TABLE {table} RESET ({names(settings)})")
        for table, settings in STORAGE.items()
    ]
