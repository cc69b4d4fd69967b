"""Demo data: a site for a script, one for the API, and one with something in every state."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from lifecycle.actor import acting_as
from lifecycle.models import ApiKey
from ociqueue.enqueue import enqueue
from ociqueue.models import Conversion, Site, SiteMembership
from ociqueue.models.queryset import failure
from ociqueue.states import SyncMethod

SHOWCASE = "Ege Mobilya (demo)"
ROWS = 40
# What becomes of the showcase's rows, by turns; rows without a fate stay QUEUED.
FATES = ["ack", "ack", "bad_time", "ack", "threw", "later", "stuck", "ack", "", ""]


def load_demo(*, people: dict[str, str], recall: Callable[[str], str | None], keep: Callable[[str, str], None]) -> Any:
    """Make what is missing; keys are only kept as hashes, so their text is recalled from where the caller keeps it."""
    sites = {
        "script_site": demo_site("Script site (demo)"),
        "api_site": demo_site("API site (demo)", sync_method=SyncMethod.API),
    }
    showcase = demo_site(SHOWCASE)
    for site in (*sites.values(), showcase):
        for username, role in people.items():
            user = User.objects.get(username=username)
            SiteMembership.objects.get_or_create(site=site, user=user, defaults={"role": role})
    if not showcase.conversions.exists():
        with acting_as("demo"):
            fill(showcase)
    return {
        name: {"public_id": site.public_id, "api_key": demo_key(name, site, recall, keep)}
        for name, site in sites.items()
    }


def demo_site(name: str, **columns: Any) -> Site:
    """Return the site of this name, made when missing."""
    return Site.objects.get_or_create(name=name, defaults={"default_currency": "TRY", **columns})[0]


def demo_key(name: str, site: Site, recall: Callable[[str], str | None], keep: Callable[[str, str], None]) -> str:
    """Return a key that opens the site, the same as last time if it still does."""
    text = recall(name)
    if text and ApiKey.objects.valid().filter(user=site.service_user()).holding(text):
        return text
    text = site.issue_key(name="demo")
    keep(name, text)
    return text


def fill(site: Site) -> None:
    """Make rows that came in over two days and went different ways."""
    now = timezone.now()
    items = [
        {
            "conversionName": ("Satış", "Teklif", "Randevu")[number % 3],
            ("gclid", "wbraid", "gbraid")[number % 7 // 3]: f"demo-click-{number:04}",
            "conversionTime": (now - timedelta(hours=1 + number)).isoformat(),
            "conversionValue": 250 + 75 * (number % 9),
            "sourceKey": f"demo-{number}",
        }
        for number in range(ROWS)
    ]
    enqueue(site, items)
    rows = list(site.conversions.order_by("source_key"))
    for row, fate in zip(rows, FATES * (ROWS // len(FATES)), strict=True):
        if fate:
            row.move("claim", claimed_at=Now(), attempt_count=1)
            follow(row, fate)


def follow(row: Conversion, fate: str) -> None:
    """Let a claimed row meet its fate."""
    if fate == "ack":
        row.move("ack")
    elif fate == "bad_time":
        message = "Expected yyyy-mm-dd HH:mm:ss±HH:mm"
        row.move("ack_failed", **failure("INVALID_TIME_FORMAT", "VALIDATION", message))
    elif fate == "threw":
        row.move("ack_failed", **failure("UPLOAD_EXCEPTION", "TRANSIENT", "Bulk upload is not available right now."))
    elif fate == "later":
        row.move("defer", claimed_at=None, next_retry_at=Now() + timedelta(hours=6))
    elif fate == "stuck":
        Conversion.objects.filter(pk=row.pk).update(claimed_at=Now() - timedelta(minutes=40))
