from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

WAITING = ("QUEUED", "RETRY")


class Migration(migrations.Migration):
    atomic = False  # indexes are built beside writers

    dependencies = [("ociqueue", "0035_replaced_once")]

    operations = [
        AddIndexConcurrently(
            "conversion",
            models.Index(
                fields=["site"],
                condition=models.Q(status__in=WAITING, next_retry_at=None),
                name="conversion_ready",
            ),
        ),
        AddIndexConcurrently(
            "conversion",
            models.Index(
                fields=["site", "next_retry_at"],
                condition=models.Q(status__in=WAITING, next_retry_at__isnull=False),
                name="conversion_deferred",
            ),
        ),
        RemoveIndexConcurrently("conversion", "conversion_due_by_time"),
    ]
