from datetime import timedelta

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.lookups import GreaterThan

WAITING = ("QUEUED", "RETRY")
CAME_LATE = Q(GreaterThan(F("created_at") - F("conversion_time"), Value(timedelta(days=7))))


class Migration(migrations.Migration):
    atomic = False  # indexes are built beside writers

    dependencies = [("ociqueue", "0037_denied_consent")]

    operations = [
        AddIndexConcurrently(
            "conversion",
            models.Index(
                fields=["site", "created_at", "id"],
                condition=Q(Q(consent_ad_user_data="DENIED"), status__in=WAITING),
                name="conversion_denied",
            ),
        ),
        AddIndexConcurrently(
            "conversion",
            models.Index(
                fields=["conversion_time", "id"],
                condition=Q(CAME_LATE, status__in=WAITING),
                name="conversion_came_late",
            ),
        ),
        AddIndexConcurrently(
            "conversion",
            models.Index(fields=["id"], condition=Q(outcome_unknown=True), name="conversion_unknown"),
        ),
    ]
