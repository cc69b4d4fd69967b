from django.db import migrations


def create_owner(apps, schema_editor):
    """What the role may do is granted after the migration (kilit.access.roles)."""
    apps.get_model("auth", "Group").objects.get_or_create(name="owner")


class Migration(migrations.Migration):
    dependencies = [("access", "0007_admin_keys_are_checked")]

    operations = [
        migrations.AlterModelOptions(
            name="apikey",
            options={
                "default_permissions": ("view", "add", "change"),
                "permissions": [("own_installation", "Can manage what belongs to the installation")],
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
            },
        ),
        migrations.RunPython(create_owner, migrations.RunPython.noop),
    ]
