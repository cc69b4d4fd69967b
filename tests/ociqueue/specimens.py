"""A failed and a waiting row of each queue of this package."""

from ociqueue.models import Adjustment, Conversion
from tests.support import adjusted
from tests.support.conversions import make_failed, new_conversion
from tests.support.dashboard import make_site
from tests.support.queue_rows import QueueRows


def waiting_conversion() -> Conversion:
    row = new_conversion(make_site())
    row.save()
    return row


def waiting_adjustment() -> Adjustment:
    return adjusted.restate(adjusted.make_sold(adjusted.api_site()))


ROWS = {
    "conversion": QueueRows(failed=lambda: make_failed(make_site())[0], waiting=waiting_conversion),
    "adjustment": QueueRows(failed=lambda: adjusted.fail(waiting_adjustment()), waiting=waiting_adjustment),
}
