from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.access.encryption import DecryptionError
from kilit.lock.audit import acting_as
from kilit.lock.management.arguments import whole_number
from kilit.sentences import english
from ociqueue.management.sites import find_site
from ociqueue.models import Circuit, Credentials, Site
from ociqueue.states import UPLOADED_HERE, Disposition
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.results import CredentialsRejected
from ociqueue.uploader.upload_run import MOST_ROWS, dry_run_upload, due_sites, upload_due


class Command(BaseCommand):
    help = "Upload conversions of sites that send through the Google Ads API or the Data Manager API."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--site", help="A site's public id or uuid; without it, every due site.")
        parser.add_argument("--dry-run", action="store_true", help="Let Google validate the rows; write nothing.")
        parser.add_argument(
            "--limit",
            type=whole_number(least=1, most=MOST_ROWS),
            default=MOST_ROWS,
            help=f"With --dry-run: how many rows of each site are tried, {MOST_ROWS} at most.",
        )

    def handle(self, *args: object, **options: Any) -> None:
        chosen = find_site(options["site"]) if options["site"] else None
        if chosen and chosen.sync_method not in UPLOADED_HERE:
            raise CommandError(f"{chosen} uses a script; set it to one of Google's APIs first.")
        if chosen and not Credentials.objects.filter(site=chosen).exists():
            raise CommandError(f"{chosen} has no credentials; store them on its page in the console.")
        blocking = list(Circuit.objects.blocking().filter(site=chosen).order_by("action")) if chosen else []
        for warning in warnings(chosen, blocking) if chosen else ():
            self.stdout.write(warning)
        if chosen and chosen.is_paused:
            return
        sites = due_sites().filter(pk=chosen.pk) if chosen else due_sites()
        if options["dry_run"]:
            # An open circuit does not stop a dry run, which shows whether the account is fixed.
            for site in Site.objects.filter(pk=chosen.pk) if chosen else sites:
                self.dry_run(site, limit=options["limit"])
        elif not any(circuit.action == Circuit.EVERY_ACTION for circuit in blocking):
            with acting_as("command:oci_upload"):
                self.stdout.write(str(upload_due(sites=sites)))

    def dry_run(self, site: Site, *, limit: int) -> None:
        accepted = rejected = 0
        try:
            for row, result in dry_run_upload(site, provider_for(site), limit=limit):
                if result.disposition == Disposition.ACCEPTED:
                    accepted += 1
                    self.stdout.write(f"{row} would be accepted")
                else:
                    rejected += 1
                    why = f"{result.code} ({result.category}, {result.disposition}): {result.message}"
                    self.stdout.write(f"{row} would not: {why}")
        except (CredentialsRejected, DecryptionError) as error:
            raise CommandError(f"{site}: {error}") from None
        self.stdout.write(f"{site}: {accepted} would be accepted, {rejected} would not. Nothing was written.")


def warnings(site: Site, blocking: list[Circuit]) -> Iterator[str]:
    if site.is_paused:
        yield f"{site} is paused, so nothing is sent: {site.pause_reason}"
    for circuit in blocking:
        next_probe = f"{circuit.next_probe_at:%Y-%m-%d %H:%M} UTC"
        yield f"The {circuit} is open; next probe at {next_probe}. {circuit.code}: {english(circuit.reason)}"
