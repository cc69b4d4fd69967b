"""`manage.py alive`: the health check of a container with workers."""

import socket

from django.core.management.base import BaseCommand, CommandError
from django.db import ProgrammingError

from kilit.workers.models import Heartbeat


class Command(BaseCommand):
    help = "Succeed if a supervisor on this host had a heartbeat in the last 30 seconds."
    requires_system_checks = ()

    def handle(self, *args: object, **options: object) -> None:
        host = socket.gethostname()[:64]
        try:
            alive = Heartbeat.objects.alive().filter(name__startswith=f"{host}:").exists()
        except ProgrammingError as error:
            raise CommandError("The database has no tables yet: run manage.py migrate.") from error
        if not alive:
            raise CommandError(f"No supervisor on {host} had a heartbeat in the last 30 seconds.")
        self.stdout.write("Alive.")
