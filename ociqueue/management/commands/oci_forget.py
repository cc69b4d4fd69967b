import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from kilit.lock.audit import acting_as
from ociqueue.management.sites import find_site
from ociqueue.models import IdentifierKind, ImportJob, Site
from ociqueue.operating.erasure import Person, SiteResult, find, forget

KINDS = {
    IdentifierKind.EMAIL: "an e-mail address",
    IdentifierKind.PHONE: "a phone number with its country code, as in +905321234567",
    IdentifierKind.CLICK_ID: "a gclid, wbraid or gbraid",
    IdentifierKind.ORDER_ID: "the order id that Google has (oci_…), or the shop's own source key",
}


class Command(BaseCommand):
    help = (
        "Remove what identifies a person from conversions that have ended, and from every text that quotes it. The "
        "rows and their history stay. All events and messages are read: with many millions it takes minutes. Give - "
        "instead of a value to have it read from standard input, so that it is not in the shell's history."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        by = parser.add_mutually_exclusive_group(required=True)
        for kind, description in KINDS.items():
            by.add_argument(f"--{kind.replace('_', '-')}", dest=kind, metavar=kind.upper(), help=description)
        parser.add_argument("--site", help="public id or uuid; without it, all sites")
        parser.add_argument("--dry-run", action="store_true", help="count, change nothing")

    def handle(self, *args: object, **options: Any) -> None:
        kind = next(kind for kind in KINDS if options[kind] is not None)
        text = sys.stdin.readline() if options[kind] == "-" else options[kind]
        try:
            person = Person(kind, text)
        except ValueError as error:
            raise CommandError(str(error)) from None
        sites = [find_site(options["site"])] if options["site"] else list(Site.objects.all())
        if waiting := ImportJob.objects.open().filter(Q(site__in=sites) | Q(site=None)).count():
            self.stderr.write(
                f"Files of {waiting:,} imports wait or are being imported, and are not searched. Run it again when "
                "they have ended."
            )
        if options["dry_run"]:
            self._report(find(person, sites), "Would erase")
            return
        done: list[SiteResult] = []
        try:
            with acting_as("command:oci_forget"):
                for result in forget(person, sites):
                    done.append(result)
                    self.stdout.write(f"{result.site}: erased {result.erased}, left {result.left}.")
        except KeyboardInterrupt:
            raise CommandError("Stopped; run it again to erase the rest.", returncode=130) from None
        self._report(done, "Erased")

    def _report(self, results: list[SiteResult], verb: str) -> None:
        erased, left, keys = (
            sum(getattr(result, name) for result in results) for name in ("erased", "left", "with_address")
        )
        self.stdout.write(f"{verb} 1 conversion." if erased == 1 else f"{verb} {erased:,} conversions.")
        if left:
            self.stdout.write(
                f"Left {left:,} as they are: they or their adjustments have not ended, and cannot be sent without the "
                "identifiers. Run it again when they have ended."
            )
        if keys:
            self.stderr.write(
                f"The source keys of {keys:,} contain an @, and stay: they keep the shop's orders from being counted "
                "twice. Let the shop send its own order numbers instead."
            )
