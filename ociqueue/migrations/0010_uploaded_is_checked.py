from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # the index is built beside those who write

    dependencies = [
        ('ociqueue', '0009_uploaded'),
    ]

    operations = [
        ValidateConstraint(
            model_name='conversion',
            name='only_upload_has_batch',
        ),
        ValidateConstraint(
            model_name='conversion',
            name='uploaded_has_batch',
        ),
        AddIndexConcurrently(
            model_name='conversion',
            index=models.Index(condition=models.Q(('send_alone', True), ('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'created_at', 'id'], name='conversion_due_alone'),
        ),
    ]
