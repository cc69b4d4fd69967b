from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0006_admin_keys")]

    operations = [
        ValidateConstraint(model_name="apikey", name="key_has_known_scopes"),
        ValidateConstraint(model_name="apikey", name="admin_key_is_separate_and_expires"),
    ]
