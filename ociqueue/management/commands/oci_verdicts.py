from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.models import Receipt
from ociqueue.uploader.verdict_run import ask_for_verdicts


class Command(SweepCommand):
    help = "Ask Google for the verdict on conversions that it took over the Data Manager API."

    def preview(self, **options: object) -> str:
        return f"Would ask for {Receipt.objects.due().count()} of {Receipt.objects.open().count()} open requests."

    def run(self, **options: object) -> str:
        return str(ask_for_verdicts())
