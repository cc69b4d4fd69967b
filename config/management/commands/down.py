"""`manage.py down`: stop what `manage.py up` started, and the embedded PostgreSQL."""

from django.conf import settings
from django.core.management.base import BaseCommand

from config.local.stack import Stack
from kilit.postgres.base import configured_server


class Command(BaseCommand):
    help = "Stop everything that `up` started, including the embedded PostgreSQL."
    requires_system_checks = ()

    def handle(self, *args: object, **options: object) -> None:
        stopped = Stack(settings.BASE_DIR, lock=settings.KILIT_VAR / "run" / "up.pid").stop_other()
        if settings.DATABASES["default"]["ENGINE"] == "kilit.postgres":
            stopped |= configured_server().stop()
        self.stdout.write("Stopped." if stopped else "Nothing was running.")
