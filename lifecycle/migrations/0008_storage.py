"""How PostgreSQL keeps the lock's tables: vacuumed in small steps however large they are, hot rows with room beside them."""

from django.db import migrations

# table: its settings, and why
STORAGE = {
    # Only grows: a fifth of it (the default) would be millions of rows for vacuum and analyze to do at once.
    "lifecycle_event": "autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02",
    # Filled by every move and emptied every minute: readers walk what vacuum has not removed.
    "lifecycle_countdelta": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000",
    # Few rows, written all the time in columns without an index: with room on the page no index is written.
    "lifecycle_count": "fillfactor = 50",
    "lifecycle_minutecount": "fillfactor = 80",
    "lifecycle_ratewindow": "fillfactor = 50",
    "lifecycle_bell": "fillfactor = 50",
    "lifecycle_heartbeat": "fillfactor = 50",
    "lifecycle_sweeprun": "fillfactor = 50",
    "lifecycle_apikey": "fillfactor = 80",
}


def names(settings: str) -> str:
    return ", ".join(part.split("=")[0].strip() for part in settings.split(","))


class Migration(migrations.Migration):

    dependencies = [("lifecycle", "0007_pruning")]

    operations = [
        migrations.RunSQL(f"ALTER TABLE {table} SET ({settings})", f"ALTER TABLE {table} RESET ({names(settings)})")
        for table, settings in STORAGE.items()
    ]
