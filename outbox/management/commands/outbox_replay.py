"""`manage.py outbox_replay`: send an endpoint what happened in a time span again."""

import argparse
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from kilit.lock.audit import acting_as
from outbox.models import Endpoint
from outbox.replaying import Replay, ReplayRefused, Span

STEP = 10.0  # seconds between two lines of progress


def moment(text: str) -> datetime:
    """Return a time such as 2026-11-16T09:30 or 2026-11-16, in the server's time zone unless it has an offset."""
    try:
        time = parse_datetime(text) or parse_date(text)
    except ValueError:
        time = None
    if time is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-11-16T09:30")
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)  # noqa: DTZ001 - made aware below
    return time if timezone.is_aware(time) else timezone.make_aware(time)


class Command(BaseCommand):
    help = (
        "Send an endpoint what happened in a time span again: messages that have ended, under their own ids, and "
        "events that it has no message about, because it was off."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--endpoint", required=True, type=UUID, help="the endpoint's id")
        parser.add_argument("--from", required=True, type=moment, dest="start", help="such as 2026-11-16T09:30")
        parser.add_argument("--to", type=moment, dest="end", help="now, if it is left out")
        parser.add_argument("--failed-only", action="store_true", help="only messages that failed")
        parser.add_argument("--after", type=int, metavar="EVENT", help="continue a replay that was interrupted")
        parser.add_argument("--dry-run", action="store_true", help="only print how many there are")

    def handle(self, *args: object, **options: Any) -> None:
        endpoint = Endpoint.objects.filter(pk=options["endpoint"]).first()
        if endpoint is None:
            raise CommandError(f"There is no endpoint {options['endpoint']}.")
        span = Span(options["start"], options["end"] or timezone.now())
        if span.start >= span.end:
            raise CommandError("--from must be before --to.")
        replay = Replay(endpoint, span, failed_only=options["failed_only"], dry_run=options["dry_run"])
        try:
            with acting_as("command:outbox_replay", reason=f"{span.start:%F %T} to {span.end:%F %T}"):
                self._replay(replay, options["after"])
        except ReplayRefused as error:
            raise CommandError(str(error)) from None

    def _replay(self, replay: Replay, after: int | None) -> None:
        replayed = created = 0
        while True:
            result = replay.run(after=after, seconds=STEP)
            replayed, created, after = replayed + result.replayed, created + result.created, result.resume_after
            if after is None:
                break
            self.stdout.write(f"{replayed:,} again, {created:,} new so far; continue with --after {after}.")
        verb = "Would send" if replay.dry_run else "Queued"
        self.stdout.write(f"{verb} {replayed:,} again and {created:,} that it has not received.")
