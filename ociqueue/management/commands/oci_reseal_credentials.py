"""`manage.py oci_reseal_credentials`: encrypt all credentials with the first key, so that older keys can be removed."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kilit.access.encryption import DecryptionError
from ociqueue.models import Credentials


class Command(BaseCommand):
    help = "Encrypt all stored credentials with the first of KILIT_CREDENTIAL_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = Credentials.objects.reencrypt()
        except DecryptionError as error:
            raise CommandError(f"{error} Nothing was changed.") from None
        self.stdout.write(f"Encrypted {count}.")
