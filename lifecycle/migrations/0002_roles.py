"""Make the three roles; what each may do is granted after every migration (lifecycle.roles)."""

from typing import Any

from django.db import migrations

ROLES = ["viewer", "operator", "admin"]


def make_roles(apps: Any, schema_editor: Any) -> None:
    Group = apps.get_model("auth", "Group")
    for name in ROLES:
        Group.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
