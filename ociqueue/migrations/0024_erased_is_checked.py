from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('ociqueue', '0023_erased'),
    ]

    operations = [
        ValidateConstraint(
            model_name='conversion',
            name='erased_has_ended',
        ),
    ]
