from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0004_key_scopes")]

    operations = [ValidateConstraint(model_name="apikey", name="key_has_known_scopes")]
