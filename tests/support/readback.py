"""Times, and what comparing a site's counts found."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ociqueue.models import ReadBack, Site
from ociqueue.reconcile import run

ISTANBUL = ZoneInfo("Europe/Istanbul")
DAY = timedelta(days=1)
OTHER_CLIENT = "GOOGLE_ADS_WEB_CLIENT"


def noon(age: int, zone: ZoneInfo = ISTANBUL) -> datetime:
    return datetime.now(zone).replace(hour=12, minute=0, second=0, microsecond=0) - DAY * age


def found(site: Site) -> list[tuple[int, list[str]]]:
    """Return the findings of a site with their days, as so many days ago."""
    run.reconcile_due(sites=[site])
    stored = ReadBack.objects.get(site=site)
    assert not stored.error
    today = datetime.now(ZoneInfo(stored.time_zone)).date()
    return [
        ((today - datetime.fromisoformat(row["day"]).date()).days, row["findings"])
        for row in stored.days
        if row["findings"]
    ]
