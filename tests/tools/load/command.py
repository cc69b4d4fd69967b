"""`python -m tests.tools.load`: a million conversions in, drained and acknowledged by HTTP, and counted at the end."""

import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from kilit.lock.management.arguments import whole_number
from kilit.lock.models import Count
from ociqueue.management.commands.oci_import import ProgressBar
from ociqueue.models import Conversion, Site
from ociqueue.schemas.requests import MOST_ENQUEUED
from ociqueue.states import CONVERSIONS, ConversionStatus
from tests.tools.load.driver import Failed, LoadTest


class Command(BaseCommand):
    """Makes a site of its own in this installation, unless a site and its key are given."""

    help = (
        "Send conversions to a running Kilit, hand them out and acknowledge them, all by HTTP, and see that not one is "
        "missing. Without --site and --key it makes a site of its own here; its rows stay until they are pruned."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the size, and where."""
        batch = whole_number(least=1, most=MOST_ENQUEUED)
        parser.add_argument("--rows", type=whole_number(least=1, most=10**9), default=1_000_000)
        parser.add_argument("--batch", type=batch, default=1_000, help="rows of a request")
        parser.add_argument("--clients", type=whole_number(least=1, most=64), default=2, help="at the same time")
        parser.add_argument("--url", default=f"http://127.0.0.1:{settings.PORT}", help="of a running Kilit")
        parser.add_argument("--site", help="public id of a script site, with nothing waiting in it")
        parser.add_argument("--key", help="a key of that site")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fill, drain, count."""
        if bool(options["site"]) != bool(options["key"]):
            raise CommandError("--site and --key belong together.")
        own = None if options["site"] else Site.objects.create(name=f"Load test {timezone.now():%F %H:%M}")
        test = LoadTest(
            url=options["url"].rstrip("/"),
            site=own.public_id if own else options["site"],
            key=own.issue_key(name="load test") if own else options["key"],
            rows=options["rows"],
            batch=options["batch"],
            clients=options["clients"],
        )
        try:
            entered = self._watched("in", test.rows, test.fill, lambda: test.tally.entered)
            drained = self._watched("out", test.rows, test.drain, lambda: test.tally.acknowledged)
        except Failed as reason:
            raise CommandError(str(reason)) from None
        except KeyboardInterrupt:
            raise CommandError("Stopped.", returncode=130) from None
        finally:
            if own:
                own.keys().revoke()
        self.stdout.write(
            f"In: {format_rate(test.rows, entered)}. Handed out and acknowledged: {format_rate(test.rows, drained)}."
        )
        if faults := [*wrong_tally(test), *(wrong_counts(own, test.rows) if own else [])]:
            raise CommandError(" ".join(faults))
        self.stdout.write(f"All {test.rows:,} rows are COMPLETED, each handed out once; the counts are exact.")

    def _watched(self, way: str, rows: int, work: Callable[[], None], done: Callable[[], int]) -> float:
        """Do the work while a bar shows how far it is; return the seconds it took."""
        bar = ProgressBar(self.stderr, rows)
        ended = threading.Event()
        start = time.monotonic()

        def draw() -> None:
            while not ended.wait(0.2):
                bar.show(done(), f"{way}: {format_rate(done(), time.monotonic() - start)}")

        drawing = threading.Thread(target=draw, daemon=True)
        drawing.start()
        try:
            work()
        finally:
            ended.set()
            drawing.join()
            bar.clear()
        return time.monotonic() - start


def format_rate(rows: int, seconds: float) -> str:
    """Say how many in which time."""
    return f"{rows:,} rows in {seconds:,.0f} s, {rows / max(seconds, 0.001):,.0f} rows/s"


def wrong_tally(test: LoadTest) -> list[str]:
    """Return what was answered otherwise than it should have been."""
    seen = {"entered": test.tally.entered, "handed out": test.tally.handed_out, "acknowledged": test.tally.acknowledged}
    return [f"{number:,} were {what} instead of {test.rows:,}." for what, number in seen.items() if number != test.rows]


def wrong_counts(site: Site, rows: int) -> list[str]:
    """Return where the totals, and the rows themselves, differ from what was sent."""
    totals = Count.objects.by_state(queue=CONVERSIONS.queue, scopes=[str(site.pk)])
    counted = Conversion.objects.for_site(site).filter(status=ConversionStatus.COMPLETED, attempt_count=1).count()
    faults = [] if totals == {ConversionStatus.COMPLETED: rows} else [f"The totals say {totals}."]
    return faults + ([] if counted == rows else [f"{counted:,} rows are COMPLETED after one attempt."])
