"""`manage.py down`: stop what `manage.py up` started, and the embedded PostgreSQL."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config.embedded.base import configured_server
from config.stack import Stack


class Command(BaseCommand):
    """Stops this installation; stopping twice is fine."""

    help = "Stop what `up` started, the embedded PostgreSQL included."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Stop the services first: they use the database."""
        stopped = Stack(settings.BASE_DIR, lock=settings.KILIT_VAR / "run" / "up.pid").stop_other()
        if settings.DATABASES["default"]["ENGINE"] == "config.embedded":
            stopped |= configured_server().stop()
        self.stdout.write("Stopped." if stopped else "Nothing was running.")
