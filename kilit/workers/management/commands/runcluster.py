"""`manage.py runcluster`: the django-q2 cluster under `runworkers`; it ends when its supervisor does."""

from django.conf import settings
from django.core.management.base import BaseCommand
from django_q.cluster import Cluster
from django_q.signals import post_spawn

from kilit.database.limits import limit_statements
from kilit.workers.notifications import announce_changes
from kilit.workers.processes import die_with_parent


class Command(BaseCommand):
    help = "Run one django-q2 cluster; started by runworkers, not by hand."
    requires_system_checks = ()

    def handle(self, *args: object, **options: object) -> None:
        die_with_parent()
        limit_statements(settings.DATABASE_TIMEOUT)
        post_spawn.connect(_limit_tasks)
        Cluster().start()


def _limit_tasks(**_: object) -> None:
    """Let tasks wait longer than the processes that pass them on; sent by each worker process when it starts."""
    limit_statements(settings.TASK_TIMEOUT)
    announce_changes()
