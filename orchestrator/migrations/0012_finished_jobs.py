from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orchestrator', '0011_figures'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='job',
            index=models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['finished_at', 'id'], name='job_finished'),
        ),
    ]
