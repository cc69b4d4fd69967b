from django.core.management.base import CommandParser

from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.management.sites import find_site
from ociqueue.reconcile.run import due_sites, reconcile_due


class Command(SweepCommand):
    help = "Compare our counts with Google's upload summaries, for sites that are due."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--site", help="A site's public id or uuid: compare it now, due or not.")

    def preview(self, *, site: str | None, **options: object) -> str:
        count = len([find_site(site)]) if site else due_sites().count()
        return "Would compare 1 site." if count == 1 else f"Would compare {count} sites."

    def run(self, *, site: str | None, **options: object) -> str:
        return reconcile_due(sites=[find_site(site)] if site else None)
