from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from ociqueue.management.sites import find_site
from ociqueue.reconcile.run import due_sites, reconcile_due


class Command(BaseCommand):
    help = "Compare our counts with Google's upload summaries, for sites that are due."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print how many there are")
        parser.add_argument("--site", help="A site's public id or uuid: compare it now, due or not.")

    def handle(self, *args: object, site: str | None, dry_run: bool, **options: object) -> None:
        sites = [find_site(site)] if site else None
        if dry_run:
            count = len(sites) if sites else due_sites().count()
            self.stdout.write("Would compare 1 site." if count == 1 else f"Would compare {count} sites.")
            return
        with acting_as("command:oci_reconcile"):
            self.stdout.write(reconcile_due(sites=sites))
