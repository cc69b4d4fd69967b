from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orchestrator', '0017_parts_digest_and_layout'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='job',
            index=models.Index(fields=['parts_digest', 'id'], name='job_of_parts'),
        ),
        AddIndexConcurrently(
            model_name='orderfile',
            index=models.Index(fields=['sha256'], name='order_file_of_content'),
        ),
    ]
