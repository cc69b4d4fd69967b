from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('ociqueue', '0044_event_source'),
    ]

    operations = [
        ValidateConstraint(
            model_name='conversion',
            name='conversion_event_source_is_known',
        ),
    ]
