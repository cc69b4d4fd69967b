from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ociqueue", "0046_reopened_failures")]

    operations = [
        AddConstraintNotValid(
            model_name="sitemembership",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ("viewer", "operator", "admin"))), name="membership_has_role_of_a_site"
            ),
        ),
    ]
