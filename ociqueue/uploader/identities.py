"""What Google identifies a row by, in both of its APIs."""

from ociqueue.models import Conversion
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.uploader.results import Identities


def google_identities(account: GoogleAdsAccount, row: Conversion) -> Identities:
    """Return the order id, and the click with its action and time: Google rejects rows that share either."""
    return {
        ("order", row.order_id),
        ("click", row.click_id, account.action_of(row.action), row.conversion_time.timestamp() // 1),
    }
