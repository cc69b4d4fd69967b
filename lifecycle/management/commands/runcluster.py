"""`manage.py runcluster`: the django-q2 cluster under `runworkers`, which dies when its supervisor does."""

from typing import Any

from django.core.management.base import BaseCommand
from django_q.cluster import Cluster

from lifecycle.processes import die_with_parent


class Command(BaseCommand):
    """Runs what django-q2's own `qcluster` runs, leaving no orphans."""

    help = "Run one django-q2 cluster; started by runworkers, not by hand."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the cluster; multiprocessing waits for it at exit."""
        die_with_parent()
        Cluster().start()
