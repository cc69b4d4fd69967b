from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orchestrator", "0010_saws"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(condition=models.Q(("saw", ""), _negated=True), fields=["saw", "id"], name="job_of_saw"),
        ),
        ValidateConstraint(model_name="job", name="job_error_code_is_known"),
        ValidateConstraint(model_name="job", name="hold_has_something_to_fix"),
    ]
