"""Writes the keys of conversions that were stored before there were keys; since then a trigger writes them.

Ten thousand rows at a time, each time in a transaction of its own, so that no lock lasts. Where it was interrupted,
`migrate` does it again: keys that are there stay.
"""

from uuid import UUID

from django.db import migrations, transaction

BATCH = 10_000
# Nothing is erased or deleted between reading and writing: the triggers that follow it take the same lock.
LOCK = "SELECT pg_advisory_xact_lock(hashtext('ociqueue.conversionkey'))"
FILL = """
    WITH rows AS MATERIALIZED (
      SELECT id, site_id, action, source_key, order_id, gclid || wbraid || gbraid AS click_id, hashed_email, hashed_phone
      FROM offline_conversion_queue WHERE id > %s ORDER BY id LIMIT %s
    ), written AS (
      INSERT INTO ociqueue_conversionkey
        (id, site_id, action, source_key, order_id, click_id, hashed_email, hashed_phone)
      SELECT * FROM rows ON CONFLICT (id) DO NOTHING
    )
    SELECT id FROM rows ORDER BY id DESC LIMIT 1
"""


def fill(apps, schema_editor):
    connection, last = schema_editor.connection, UUID(int=0)
    while last:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(LOCK)
            cursor.execute(FILL, [last, BATCH])
            last = next(iter(cursor.fetchone() or ()), None)


class Migration(migrations.Migration):
    atomic = False  # a transaction for each batch

    dependencies = [("ociqueue", "0031_conversion_keys")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
