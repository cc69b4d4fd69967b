import json
from contextlib import suppress
from typing import Any

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations

from kilit.access.encryption import DecryptionError, decrypt


def copy_customer_ids(apps: Any, _schema_editor: Any) -> None:
    """Fill in what is known: from the credentials, or else from what the script reported."""
    sites = apps.get_model("ociqueue", "Site").objects
    for read in apps.get_model("ociqueue", "ReadBack").objects.exclude(customer_id=""):
        sites.filter(pk=read.site_id).update(customer_id=read.customer_id)
    for stored in apps.get_model("ociqueue", "Credentials").objects.all():
        # Without their key the credentials cannot be read; the customer id can then be typed in.
        with suppress(DecryptionError):
            sites.filter(pk=stored.site_id).update(customer_id=json.loads(decrypt(stored.encrypted))["customer_id"])


class Migration(migrations.Migration):
    dependencies = [("ociqueue", "0040_archived_sites")]

    operations = [
        ValidateConstraint(model_name="site", name="archived_is_paused"),
        migrations.RunPython(copy_customer_ids, migrations.RunPython.noop),
    ]
