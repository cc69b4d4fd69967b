"""Drops the indexes of conversions that their keys have replaced, once no process runs an older version."""

from django.core.management.base import BaseCommand
from django.db import connection

# A new database is created without them (migration 0034).
OLD_INDEXES = (
    "one_conversion_per_source_key",
    "conversion_source_key_prefix",
    "conversion_order_id_prefix",
    "conversion_click_id_prefix",
    "conversion_of_hashed_email",
    "conversion_of_hashed_phone",
)


class Command(BaseCommand):
    help = (
        "Drop the indexes that only older versions use. Run it after an upgrade, when all processes have been"
        " restarted: claims and acknowledgements then write half as many index entries."
    )

    def handle(self, *_args: object, **_options: object) -> None:
        dropped = 0
        with connection.cursor() as cursor:
            for name in OLD_INDEXES:
                cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
                dropped += cursor.fetchone()[0]
                cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        self.stdout.write(f"Dropped {dropped} indexes.")
