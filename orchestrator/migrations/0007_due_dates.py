from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orchestrator", "0006_stock"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="due_on",
            field=models.DateField(null=True, verbose_name="due"),
        ),
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(
                condition=models.Q(
                    ("due_on__isnull", False),
                    (
                        "status__in",
                        (
                            *("NEW", "PREPARED", "OPTI_IMPORTED", "OPTI_RUNNING"),
                            *("OPTI_DONE", "XML_READY", "DELIVERED", "HOLD"),
                        ),
                    ),
                ),
                fields=["due_on", "id"],
                name="job_due_on",
            ),
        ),
    ]
