from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

KNOWN = ["enqueue", "script", "read", "operate", "admin"]


class Migration(migrations.Migration):
    dependencies = [("access", "0005_key_scopes_are_checked")]

    operations = [
        migrations.RemoveConstraint(model_name="apikey", name="key_has_known_scopes"),
        AddConstraintNotValid(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("scopes__contained_by", KNOWN), ("scopes__len__gt", 0)),
                name="key_has_known_scopes",
            ),
        ),
        AddConstraintNotValid(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("scopes__contains", ["admin"]), _negated=True),
                    models.Q(("expires_at__isnull", False), ("scopes", ["admin"])),
                    _connector="OR",
                ),
                name="admin_key_is_separate_and_expires",
            ),
        ),
    ]
