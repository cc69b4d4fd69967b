"""`manage.py oci_reseal_credentials`: seal all logins under the first key, so that older keys can go."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ociqueue.models import Credentials
from ociqueue.models.encryption import Unreadable


class Command(BaseCommand):
    help = "Seal all stored credentials under the first of KILIT_CREDENTIAL_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            resealed = Credentials.objects.reseal()
        except Unreadable as refusal:
            raise CommandError(f"{refusal} Nothing was changed.") from None
        self.stdout.write(f"Resealed {resealed}.")
