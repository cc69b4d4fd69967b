from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('ociqueue', '0006_replaced'),
    ]

    operations = [
        ValidateConstraint(
            model_name='conversion',
            name='replaced_has_ended',
        ),
    ]
