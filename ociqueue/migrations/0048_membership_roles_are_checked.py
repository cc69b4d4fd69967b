from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ociqueue", "0047_membership_roles")]

    operations = [ValidateConstraint(model_name="sitemembership", name="membership_has_role_of_a_site")]
