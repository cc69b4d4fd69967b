"""The Google Ads provider for adjustments: retractions and new values of conversions that Google has."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ociqueue.models import Adjustment
from ociqueue.uploader.googleads.connection import GoogleAdsConnection, google_time
from ociqueue.uploader.results import Disposition, Identities, RowResult

RETRACTED = "CONVERSION_ALREADY_RETRACTED"


class GoogleAdsAdjustments(GoogleAdsConnection):
    REQUEST = "UploadConversionAdjustmentsRequest"

    def upload(self, batch: Sequence[Adjustment], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        results = super().upload(batch, dry_run=dry_run, job_id=job_id)
        return [for_row(row, result) for row, result in zip(batch, results, strict=True)]

    def identities(self, row: Adjustment) -> Identities:
        return {("order", row.order_id)}

    def add_row(self, request: Any, row: Adjustment) -> None:
        adjustment = request.conversion_adjustments.add()
        # By the order id alone: Google asks for it when the conversion was sent with one, and refuses both.
        adjustment.order_id = row.order_id
        adjustment.conversion_action = self.account.action_of(row.action)
        adjustment.adjustment_date_time = google_time(row.adjusted_at)
        adjustment.adjustment_type = getattr(self.kinds, row.kind)
        if row.value is not None:
            adjustment.restatement_value.adjusted_value = float(row.value)
            adjustment.restatement_value.currency_code = row.currency

    def call(self, request: Any, *, timeout: float) -> Any:
        return self.service.upload_conversion_adjustments(request=request, timeout=timeout, retry=None)

    @cached_property
    def kinds(self) -> Any:
        return self.client.enums.ConversionAdjustmentTypeEnum

    @cached_property
    def service(self) -> Any:
        return self.client.get_service("ConversionAdjustmentUploadService", interceptors=[self.request_ids])


def for_row(row: Adjustment, result: RowResult) -> RowResult:
    """Return what an error means for this row, where that depends on more than the error."""
    if result.code == RETRACTED and not row.is_retraction and result.disposition == Disposition.DUPLICATE:
        return replace(result, disposition=Disposition.FATAL)
    return result
