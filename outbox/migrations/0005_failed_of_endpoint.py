from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("outbox", "0004_channel_admins")]

    operations = [
        AddIndexConcurrently(
            model_name="outboxmessage",
            index=models.Index(
                condition=models.Q(("status", "FAILED")), fields=["endpoint", "id"], name="message_failed_of_endpoint"
            ),
        ),
    ]
