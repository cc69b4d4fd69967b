"""`manage.py oci_reseal_credentials`: seal all logins under the first key, so that older keys can go (OCI-19)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ociqueue.models import Credentials
from ociqueue.models.sealing import Unreadable


class Command(BaseCommand):
    """Ends a rotation of KILIT_CREDENTIAL_KEYS."""

    help = "Seal all stored credentials under the first of KILIT_CREDENTIAL_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        """Reseal all, or none when one cannot be opened."""
        try:
            resealed = Credentials.objects.reseal()
        except Unreadable as refusal:
            raise CommandError(f"{refusal} Nothing was changed.") from None
        self.stdout.write(f"Resealed {resealed}.")
