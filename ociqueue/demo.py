"""Demo data: a site for each sender, and one with something in nearly every state."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from kilit.access.encryption import DecryptionError
from kilit.access.models import ApiKey
from kilit.lock.audit import acting_as
from kilit.sites.models import SiteMembership
from ociqueue.intake.adjustments import adjust
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Conversion, Credentials, Receipt, Site
from ociqueue.models.batch import FIRST_CHECK_AFTER
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.models.sending import failure
from ociqueue.states import Disposition, SyncMethod
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent

SHOWCASE = "Ege Mobilya (demo)"
ROWS = 40
# The simulator answers with the error that a click id names, and accepts the others.
UPLOADS = [*(f"demo-upload-{number}" for number in range(6)), "FAIL-EXPIRED_EVENT-1", "FAIL-TOO_RECENT_EVENT-2"]
# On the Data Manager API a row is refused at once, or its verdict comes half an hour later.
EVENTS = [*(f"demo-event-{number}" for number in range(4)), "REFUSE-INVALID_FORMAT-1", "FAIL-EXPIRED_CLICK-2"]
# The simulator reads from this id that it took six events, and what is wrong with the last two.
TAKEN, TAKEN_EVENTS = "TAKEN-6-CLICK_NOT_FOUND-TOO_RECENT_CLICK", 6
DEMO_ACCOUNT = GoogleAdsAccount(
    customer_id="1234567890",
    client_id="demo",
    client_secret="demo",  # noqa: S106 - for the simulator only
    refresh_token="demo",  # noqa: S106
    conversion_action="customers/1234567890/conversionActions/7",
)
OVERTAKEN = "A newer value was sent from elsewhere."
ADJUSTED = 60  # the number of the first conversion with an adjustment
ADJUSTED_KEYS = [f"demo-{ADJUSTED + number}" for number in range(3)]
# What happens to the showcase's rows after their claim, in turn. A row without a verb is stuck, None stays QUEUED.
ACK: tuple[str, dict[str, Any]] = ("ack", {})
BAD_TIME = failure("INVALID_TIME_FORMAT", "VALIDATION", "Expected yyyy-mm-dd HH:mm:ss±HH:mm")
THREW = failure("UPLOAD_EXCEPTION", "TRANSIENT", "Bulk upload is not available right now.")
LATER = {"claimed_at": None, "next_retry_at": Now() + timedelta(hours=6)}
FATES = [ACK, ACK, ("ack_failed", BAD_TIME), ACK, ("ack_failed", THREW), ("defer", LATER), ("", {}), ACK, None, None]


def load_demo(*, people: dict[str, str], kept: dict[str, str]) -> Any:
    """Create what is missing; only hashes of keys are stored, so the caller keeps their text in `kept`."""
    sites = {
        "script_site": demo_site("Script site (demo)"),
        "api_site": demo_site("API site (demo)", sync_method=SyncMethod.API),
        "data_manager_site": demo_site("Data Manager site (demo)", sync_method=SyncMethod.DATA_MANAGER),
    }
    showcase = demo_site(SHOWCASE)
    for site in (*sites.values(), showcase):
        for username, role in people.items():
            user = User.objects.get(username=username)
            SiteMembership.objects.get_or_create(site=site, user=user, defaults={"role": role})
    if not showcase.conversions.exists():
        with acting_as("demo"):
            fill(showcase)
        showcase.note_export()
        showcase.note_ack()
    ads, data_manager = sites["api_site"], sites["data_manager_site"]
    prepare_adjustments(ads)
    prepare_uploads(ads, UPLOADS, is_simulated=settings.GOOGLE_ADS_ENDPOINT.startswith("localhost:"))
    prepare_receipt(data_manager)
    is_simulated = settings.DATA_MANAGER_ENDPOINT.startswith("http://127.0.0.1:")
    prepare_uploads(data_manager, EVENTS, is_simulated=is_simulated, first=TAKEN_EVENTS)
    return {name: {"public_id": site.public_id, "api_key": demo_key(name, site, kept)} for name, site in sites.items()}


def demo_site(name: str, **columns: object) -> Site:
    return Site.objects.get_or_create(name=name, defaults={"default_currency": "TRY", **columns})[0]


def prepare_uploads(site: Site, click_ids: Sequence[str], *, is_simulated: bool, first: int = 0) -> None:
    """Let a site send, but only to the simulator: no demo ever calls Google."""
    credentials = Credentials.objects.filter(site=site).first()
    if not is_simulated:
        with suppress(DecryptionError):
            if credentials and credentials.account() == DEMO_ACCOUNT:
                credentials.delete()
        return
    if credentials is None:
        Credentials.objects.store(site, DEMO_ACCOUNT)
    with acting_as("demo"):
        enqueue(site, demo_items(click_ids, first=first))  # once: the rows have source keys


def prepare_receipt(site: Site) -> None:
    """Store an upload of half an hour ago, so that its verdict is due at once."""
    if site.conversions.exists():
        return
    with acting_as("demo"):
        enqueue(site, demo_items([f"demo-taken-{number}" for number in range(TAKEN_EVENTS)]))
        batch, rows = claim(site, SiteTurn(Conversion.objects.for_site(site)))
        mark_sent(batch, rows)
        settle(batch, rows, [RowResult(Disposition.RECEIVED, request_id=TAKEN)] * len(rows))
    Receipt.objects.filter(batch=batch).update(received_at=Now() - FIRST_CHECK_AFTER, next_check_at=Now())


def prepare_adjustments(site: Site) -> None:
    """Store conversions that were sent: one with a new value, one retracted, and one whose new value was rejected."""
    if site.adjustments.exists():
        return
    # In one transaction, so that no upload takes them meanwhile.
    with transaction.atomic(), acting_as("demo"):
        enqueue(site, demo_items([f"demo-adjusted-{number}" for number in range(3)], first=ADJUSTED))
        adjusted = site.conversions.filter(key__site=site, key__source_key__in=ADJUSTED_KEYS)
        first, second, third = adjusted.order_by("source_key")
        for row in (first, second, third):
            row.move("claim", claimed_at=Now(), attempt_count=1)
            row.move("ack", uploaded_at=Now())
        adjust(site, [{"id": str(row), "kind": "RESTATEMENT", "value": 100} for row in (first, third)])
        adjust(site, [{"id": str(second), "kind": "RETRACTION"}])
        for adjustment in site.adjustments.all():
            adjustment.move("claim", claimed_at=Now(), attempt_count=1)
            if adjustment.original_id == third.pk:
                adjustment.move("ack_failed", **failure("MORE_RECENT_RESTATEMENT_FOUND", "VALIDATION", OVERTAKEN))
            else:
                adjustment.move("ack", uploaded_at=Now())


def demo_key(name: str, site: Site, kept: dict[str, str]) -> str:
    text = kept.get(name)
    if not (text and ApiKey.objects.valid().filter(user=site.service_user()).holding(text)):
        text = kept[name] = site.issue_key(name="demo")
    return text


def demo_items(click_ids: Sequence[str], *, first: int = 0) -> list[dict[str, object]]:
    now = timezone.now()
    return [
        {
            "conversionName": ("Satış", "Teklif", "Randevu")[number % 3],
            ("gclid", "wbraid", "gbraid")[number % 7 // 3]: click_id,
            "conversionTime": (now - timedelta(hours=1 + number)).isoformat(),
            "conversionValue": 250 + 75 * (number % 9),
            "sourceKey": f"demo-{number}",
        }
        for number, click_id in enumerate(click_ids, first)
    ]


def fill(site: Site) -> None:
    enqueue(site, demo_items([f"demo-click-{number:04}" for number in range(ROWS)]))
    rows = list(site.conversions.order_by("source_key"))
    for row, fate in zip(rows, FATES * (ROWS // len(FATES)), strict=True):
        if fate:
            verb, changes = fate
            row.move("claim", claimed_at=Now() - timedelta(minutes=0 if verb else 40), attempt_count=1)
            if verb:
                row.move(verb, **changes)
