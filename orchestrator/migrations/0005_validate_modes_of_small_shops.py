from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations

NAMES = (
    "job_by_hand_is_not_at_the_saw",
    "job_of_the_saw_is_cut_by_nobody",
    "job_cut_by_hand_says_by_whom",
    "job_error_code_is_known",
    "hold_has_something_to_fix",
)


class Migration(migrations.Migration):

    dependencies = [
        ("orchestrator", "0004_modes_of_small_shops"),
    ]

    operations = [ValidateConstraint(model_name="job", name=name) for name in NAMES]
