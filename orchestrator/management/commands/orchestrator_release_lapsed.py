from kilit.workers.management.sweep_command import SweepCommand
from orchestrator.models import Job
from orchestrator.saw.saw_handover import release_lapsed


class Command(SweepCommand):
    help = "Release cutting jobs of dead runners."

    def preview(self, **options: object) -> str:
        return f"Would release {Job.objects.lapsed().count()}."

    def run(self, **options: object) -> str:
        return f"Released {release_lapsed()}."
