"""`manage.py runworkers`: work all queues until stopped."""

from django.conf import settings
from django.core.management.base import BaseCommand

from kilit.database.limits import limit_statements
from kilit.workers.management.checked_settings import SETTINGS
from kilit.workers.processes import die_with_parent
from kilit.workers.supervisor import Supervisor


class Command(BaseCommand):
    help = "Work the queues: supervise a django-q2 cluster, ring for due rows, restart it when it hangs."
    requires_system_checks = (SETTINGS,)

    def handle(self, *args: object, **options: object) -> None:
        die_with_parent()
        limit_statements(settings.DATABASE_TIMEOUT)
        Supervisor().run()
