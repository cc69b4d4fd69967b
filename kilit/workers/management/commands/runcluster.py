"""`manage.py runcluster`: the django-q2 cluster under `runworkers`; it ends when its supervisor does."""

from typing import Any

from django.core.management.base import BaseCommand
from django_q.cluster import Cluster

from kilit.workers.processes import die_with_parent


class Command(BaseCommand):
    help = "Run one django-q2 cluster; started by runworkers, not by hand."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        die_with_parent()
        Cluster().start()
