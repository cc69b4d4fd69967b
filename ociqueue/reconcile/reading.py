"""Google's upload summaries: read through the Google Ads API, or sent by a site's script."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction

from ociqueue.models import ReadBack, Site, UploadSummary
from ociqueue.uploader.googleads.responses import enum_name

if TYPE_CHECKING:  # only workers load providers
    from ociqueue.uploader.googleads.provider import GoogleAds

CUSTOMER = "SELECT customer.id, customer.time_zone FROM customer"
CLIENTS = """
    SELECT offline_conversion_upload_client_summary.client,
      offline_conversion_upload_client_summary.alerts
    FROM offline_conversion_upload_client_summary
"""
ACTIONS = """
    SELECT offline_conversion_upload_conversion_action_summary.client,
      offline_conversion_upload_conversion_action_summary.conversion_action_id,
      offline_conversion_upload_conversion_action_summary.conversion_action_name,
      offline_conversion_upload_conversion_action_summary.daily_summaries,
      offline_conversion_upload_conversion_action_summary.alerts
    FROM offline_conversion_upload_conversion_action_summary
"""


@dataclass(frozen=True)
class Reading:
    customer_id: str
    time_zone: str
    summaries: list[UploadSummary]  # without their site and time
    alerts: Sequence[dict[str, Any]] = ()  # as in SummaryAlert


def read_account(provider: "GoogleAds") -> Reading:
    """Ask Google for the account's summaries; only workers call this."""
    customer = next(iter(provider.query(CUSTOMER))).customer
    clients = [row.offline_conversion_upload_client_summary for row in provider.query(CLIENTS)]
    actions = [row.offline_conversion_upload_conversion_action_summary for row in provider.query(ACTIONS)]
    return Reading(
        customer_id=provider.account.customer_id,
        time_zone=customer.time_zone,
        summaries=[day for action in actions for day in _days(action)],
        alerts=[*_alerts(clients), *_alerts(actions)],
    )


def store(site: Site, reading: Reading, *, read_at: datetime) -> None:
    """Store what Google says for a site; the same answer may be stored again."""
    for summary in reading.summaries:
        summary.site, summary.read_at = site, read_at
    with transaction.atomic():
        UploadSummary.objects.store(site, reading.summaries, read_at=read_at)
        Site.objects.filter(pk=site.pk, customer_id="").update(customer_id=reading.customer_id)
        ReadBack.objects.note(
            site,
            customer_id=reading.customer_id,
            time_zone=reading.time_zone,
            read_at=read_at,
            alerts=list(reading.alerts),
            error="",
        )


def _days(action: Any) -> Iterator[UploadSummary]:
    for day in action.daily_summaries:
        if day.upload_date:
            yield UploadSummary(
                upload_date=date.fromisoformat(day.upload_date),
                action_id=action.conversion_action_id,
                action_name=action.conversion_action_name[:200],
                client=enum_name(action, "client"),
                successful=day.successful_count,
                failed=day.failed_count,
                pending=day.pending_count,
            )


def _alerts(summaries: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for summary in summaries:
        client, action = enum_name(summary, "client"), getattr(summary, "conversion_action_name", "")[:200]
        for alert in summary.alerts:
            family = alert.error.WhichOneof("error_code")
            name = enum_name(alert.error, family) if family else "UNKNOWN"
            yield {"error": name, "share": alert.error_percentage, "client": client, "action": action}
