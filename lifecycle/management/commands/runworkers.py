"""`manage.py runworkers`: work all three queues until told to stop."""

from typing import Any

from django.core.management.base import BaseCommand

from lifecycle.processes import die_with_parent
from lifecycle.workers.supervisor import Supervisor


class Command(BaseCommand):
    """Supervises a django-q2 cluster."""

    help = "Work the queues: supervise a django-q2 cluster, ring for due rows, restart it when it goes deaf."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until SIGTERM or SIGINT."""
        die_with_parent()
        Supervisor().run()
