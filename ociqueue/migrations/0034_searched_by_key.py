from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations

# What the keys have now. The version before searches by these indexes and finds duplicates by the first, so they stay
# where it may be running; `manage.py oci_drop_old_indexes` drops them, and a later version. A new database has no rows.
DROP_IN_NEW_DATABASE = """
    DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM offline_conversion_queue) THEN
        DROP INDEX IF EXISTS one_conversion_per_source_key, conversion_source_key_prefix, conversion_order_id_prefix,
          conversion_click_id_prefix, conversion_of_hashed_email, conversion_of_hashed_phone;
      END IF;
    END $$
"""


class Migration(migrations.Migration):
    atomic = False  # an index is dropped beside writers

    dependencies = [("ociqueue", "0033_conversion_keys_are_indexed")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(DROP_IN_NEW_DATABASE, migrations.RunSQL.noop)],
            state_operations=[
                migrations.RemoveConstraint("conversion", "one_conversion_per_source_key"),
                migrations.RemoveIndex("conversion", "conversion_source_key_prefix"),
                migrations.RemoveIndex("conversion", "conversion_order_id_prefix"),
                migrations.RemoveIndex("conversion", "conversion_click_id_prefix"),
                migrations.RemoveIndex("conversion", "conversion_of_hashed_email"),
                migrations.RemoveIndex("conversion", "conversion_of_hashed_phone"),
            ],
        ),
        RemoveIndexConcurrently("conversion", "conversion_attempts"),
    ]
