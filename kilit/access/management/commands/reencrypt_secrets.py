"""`manage.py reencrypt_secrets`: encrypt all secrets with the first key, so that older keys can be removed."""

from django.core.management.base import BaseCommand, CommandError

from kilit.access.encryption import DecryptionError, reencrypt_all


class Command(BaseCommand):
    help = "Encrypt all stored credentials and secrets with the first of KILIT_CREDENTIAL_KEYS."

    def handle(self, *args: object, **options: object) -> None:
        try:
            count = reencrypt_all()
        except DecryptionError as error:
            raise CommandError(f"{error} Nothing was changed.") from None
        self.stdout.write(f"Encrypted {count}.")
