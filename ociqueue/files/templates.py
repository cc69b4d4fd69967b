"""Templates of the files that are imported: their columns, with examples."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone

from kilit.csv.writer import csv_lines, csv_response
from ociqueue.schemas.adjustments import FIELDS as ADJUSTMENT_FIELDS
from ociqueue.schemas.conversions import TEMPLATE_FIELDS, without_identifiers

ADJUSTMENT_EXAMPLES = [
    {"orderId": "EXAMPLE-order-id", "kind": "RETRACTION"},
    {"conversionSourceKey": "example-2", "kind": "RESTATEMENT", "value": "80.00", "currency": "TRY"},
]


def adjustments_template() -> StreamingHttpResponse:
    return _template("adjustments", ADJUSTMENT_FIELDS, ADJUSTMENT_EXAMPLES)


def conversions_template(*, with_identifiers: bool) -> StreamingHttpResponse:
    time = timezone.now() - timedelta(days=1)
    consents = {"consentAdUserData": "GRANTED", "consentAdPersonalization": "DENIED"}
    examples = [
        {"gclid": "EXAMPLE-click-id", "conversionValue": "1250.50", "sourceKey": "example-1", **consents},
        {"wbraid": "EXAMPLE-wbraid", "conversionValue": "99.90", "sourceKey": "example-2", "eventSource": "PHONE"},
    ]
    shared = {"conversionName": "Example purchase", "conversionTime": time, "conversionCurrency": "TRY"}
    columns = TEMPLATE_FIELDS if with_identifiers else without_identifiers(TEMPLATE_FIELDS)
    examples[0] |= {"email": "name@company.com", "phone": "+905550000000"}
    return _template("conversions", columns, [shared | example for example in examples])


def _template(name: str, columns: Sequence[str], examples: Sequence[Mapping[str, Any]]) -> StreamingHttpResponse:
    rows = [[example.get(column, "") for column in columns] for example in examples]
    return csv_response(f"{name}-template", csv_lines(columns, rows))
