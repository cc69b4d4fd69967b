from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("outbox", "0003_channel_indexes")]

    operations = [
        AddIndexConcurrently(
            model_name="outboxmessage",
            index=models.Index(
                condition=models.Q(("status", "FAILED")), fields=["endpoint", "id"], name="message_failed_of_endpoint"
            ),
        ),
    ]
