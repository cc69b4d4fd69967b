from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('outbox', '0002_channels'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='outboxmessage',
            index=models.Index(condition=models.Q(('channel__isnull', False), ('status__in', ('QUEUED', 'RETRY'))), fields=['next_try_at', 'id'], name='message_alert_due'),
        ),
        AddIndexConcurrently(
            model_name='outboxmessage',
            index=models.Index(condition=models.Q(('channel__isnull', False)), fields=['channel', 'id'], name='message_of_channel'),
        ),
        ValidateConstraint(model_name='outboxmessage', name='message_has_one_receiver'),
    ]
