from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('orchestrator', '0013_unknown_handover'),
    ]

    operations = [
        ValidateConstraint(model_name='job', name='job_error_code_is_known'),
        ValidateConstraint(model_name='job', name='open_delivery_may_be_with_the_saw'),
        ValidateConstraint(model_name='job', name='unknown_handover_has_its_code'),
    ]
