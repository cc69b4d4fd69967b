"""`manage.py alive`: do this machine's workers work? For health checks of containers."""

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lifecycle.models import Heartbeat


class Command(BaseCommand):
    """Ends with 0 when a task went through a cluster of this host lately, else with 1."""

    help = "Tell whether a supervisor of this host proved itself in the last 30 seconds."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask the database, which heard of every task that went through."""
        host = socket.gethostname()[:64]
        if not Heartbeat.objects.alive().filter(name__startswith=f"{host}:").exists():
            raise CommandError(f"No supervisor of {host} proved itself in the last 30 seconds.")
        self.stdout.write("Alive.")
