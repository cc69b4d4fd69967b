"""`manage.py oci_upload`: upload what is due through the Google Ads API now, or rehearse it."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.lock.audit import acting_as
from kilit.lock.management.arguments import whole_number
from ociqueue.management.sites import site_called
from ociqueue.models import Circuit, Credentials, Site
from ociqueue.models.encryption import Unreadable
from ociqueue.states import SyncMethod
from ociqueue.uploader.due import due_sites
from ociqueue.uploader.googleads import MOST_ROWS
from ociqueue.uploader.rehearsal import rehearse
from ociqueue.uploader.results import CredentialsRefused, Disposition
from ociqueue.uploader.upload_run import google_ads, upload_due


class Command(BaseCommand):
    help = "Upload conversions of sites that send through the Google Ads API."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--site", help="A site's public id or uuid; without it, every due site.")
        parser.add_argument("--dry-run", action="store_true", help="Let Google validate the rows; write nothing.")
        parser.add_argument(
            "--limit",
            type=whole_number(least=1, most=MOST_ROWS),
            default=MOST_ROWS,
            help=f"With --dry-run: how many rows of each site are tried, {MOST_ROWS} at most.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Upload and say what was done, or rehearse and say what would be."""
        chosen = site_called(options["site"]) if options["site"] else None
        if chosen and chosen.sync_method != SyncMethod.API:
            raise CommandError(f"{chosen} is sent by its script; set it to the Google Ads API first.")
        if chosen and not Credentials.objects.filter(site=chosen).exists():
            raise CommandError(f"{chosen} has no credentials; store them on its page in the console.")
        resting = list(Circuit.objects.resting().filter(site=chosen).order_by("action")) if chosen else []
        for words in kept_back(chosen, resting) if chosen else ():
            self.stdout.write(words)
        if chosen and chosen.is_paused:
            return
        sites = due_sites().filter(pk=chosen.pk) if chosen else due_sites()
        if options["dry_run"]:
            # An open circuit does not stop a rehearsal: it tells whether the account is mended.
            for site in Site.objects.filter(pk=chosen.pk) if chosen else sites:
                self.rehearse(site, limit=options["limit"])
        elif not any(circuit.action == Circuit.EVERY_ACTION for circuit in resting):
            with acting_as("command:oci_upload"):
                self.stdout.write(str(upload_due(sites=sites)))

    def rehearse(self, site: Site, *, limit: int) -> None:
        accepted = refused = 0
        try:
            for row, outcome in rehearse(site, google_ads(site), limit=limit):
                if outcome.disposition == Disposition.ACCEPTED:
                    accepted += 1
                    self.stdout.write(f"{row} would be accepted")
                else:
                    refused += 1
                    told = f"{outcome.code} ({outcome.category}, {outcome.disposition}): {outcome.message}"
                    self.stdout.write(f"{row} would not: {told}")
        except (CredentialsRefused, Unreadable) as refusal:
            raise CommandError(f"{site}: {refusal}") from None
        self.stdout.write(f"{site}: {accepted} would be accepted, {refused} would not. Nothing was written.")


def kept_back(site: Site, resting: list[Circuit]) -> Iterator[str]:
    """Say what keeps a site from being sent, or one of its conversion names."""
    if site.is_paused:
        yield f"{site} is paused, so nothing is sent: {site.pause_reason}"
    for circuit in resting:
        until = f"{circuit.next_probe_at:%Y-%m-%d %H:%M} UTC"
        yield f"The {circuit} is open until a probe passes, the next at {until}: {circuit.code}: {circuit.reason}"
