"""Moves rows of a site in the background, by the queue's own verbs, at a steady rate."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from time import monotonic

from django.db import connections

from ociqueue.models import Conversion, Site
from tests.support.waiting import PATIENCE

AT_ONCE = 10


class MovingRows:
    """Claims rows and puts them back, a few at a time, all of the site in turn."""

    def __init__(self, site: Site, *, per_second: int) -> None:
        ids = list(Conversion.objects.for_site(site).values_list("pk", flat=True))
        self.parts = cycle([ids[at : at + AT_ONCE] for at in range(0, len(ids), AT_ONCE)])
        self.per_second = per_second
        self.stop = threading.Event()
        self.moved = 0

    def run(self) -> None:
        began = monotonic()
        try:
            while not self.stop.is_set() and monotonic() < began + PATIENCE:
                rows = Conversion.objects.filter(pk__in=next(self.parts))
                self.moved += len(rows.claim(limit=AT_ONCE)) + len(rows.reset_to_queued())
                self.stop.wait(max(0, began + self.moved / self.per_second - monotonic()))
        finally:
            connections.close_all()


@contextmanager
def moving_rows(site: Site, *, per_second: int) -> Iterator[MovingRows]:
    moving = MovingRows(site, per_second=per_second)
    thread = threading.Thread(target=moving.run)
    thread.start()
    try:
        yield moving
    finally:
        moving.stop.set()
        thread.join(PATIENCE)
