from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('pdfjobs', '0003_own_codes_for_requests'),
    ]

    operations = [
        ValidateConstraint(model_name='pdfjob', name='failed_pdf_has_error_code'),
    ]
