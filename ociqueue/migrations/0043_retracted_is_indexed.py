from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # the index is built beside writers

    dependencies = [("ociqueue", "0042_events_by_group")]

    operations = [
        AddIndexConcurrently(
            "conversion",
            models.Index(
                fields=["site", "created_at", "id"],
                condition=Q(is_retracted=True, status__in=("QUEUED", "RETRY")),
                name="conversion_retracted",
            ),
        ),
    ]
