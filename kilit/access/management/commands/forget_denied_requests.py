"""`manage.py forget_denied_requests`: run the daily task by hand."""

from kilit.access.models import DeniedRequest
from kilit.access.models.denied_request import forget_denied_requests
from kilit.workers.management.sweep_command import SweepCommand


class Command(SweepCommand):
    help = "Delete denied requests older than the retention period."

    def preview(self, **options: object) -> str:
        return f"Would delete {DeniedRequest.objects.old().count()}."

    def run(self, **options: object) -> str:
        return forget_denied_requests()
