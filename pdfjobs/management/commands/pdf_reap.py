from kilit.workers.management.sweep_command import SweepCommand
from pdfjobs.models import PdfJob
from pdfjobs.work import reap


class Command(SweepCommand):
    help = "Take PDF jobs back from workers that died or hang."

    def preview(self, **options: object) -> str:
        return f"Would reap {PdfJob.objects.held_too_long().count()}."

    def run(self, **options: object) -> str:
        return reap()
