from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is built beside writers

    dependencies = [("ociqueue", "0027_undone_retries")]

    operations = [
        AddIndexConcurrently(
            model_name="adjustment",
            index=models.Index(
                condition=models.Q(("provider_error_code", ""), _negated=True),
                fields=["provider_error_code", "id"],
                name="adjustment_of_code",
            ),
        ),
    ]
