import django.contrib.postgres.fields
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

import kilit.access.models.api_key

ALL = ["enqueue", "script", "read", "operate"]


class Migration(migrations.Migration):
    dependencies = [("access", "0003_login_window")]

    operations = [
        # Existing keys, and those that the version before this one still issues, keep doing everything.
        migrations.AddField(
            model_name="apikey",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=16),
                db_default=ALL,
                default=kilit.access.models.api_key.default_scopes,
                help_text="What the key may be used for.",
                size=None,
                verbose_name="scopes",
            ),
        ),
        AddConstraintNotValid(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("scopes__contained_by", ALL), ("scopes__len__gt", 0)),
                name="key_has_known_scopes",
            ),
        ),
    ]
