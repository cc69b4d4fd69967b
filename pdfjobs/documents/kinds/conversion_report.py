"""A report of offline conversions over a period: what was uploaded, what failed and why."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from pdfjobs.documents.definition import Document
from pdfjobs.documents.fields import Amount, Choice, Day, LongText, Rows, Text, Variables
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.pricing import HUNDRED, PricedDocument

LABEL = 60  # thousandths of the chart's width
MOST_LABELS = 16  # dates below the chart that do not collide
LABELS = {
    "report": ("Dönüşüm raporu", "Conversion report"),
    "period": ("Dönem", "Period"),
    "uploaded": ("Yüklenen", "Uploaded"),
    "failed": ("Başarısız", "Failed"),
    "waiting": ("Bekleyen", "Waiting"),
    "success": ("Başarı oranı", "Success rate"),
    "value": ("Dönüşüm değeri", "Conversion value"),
    "daily": ("Günlük yükleme", "Uploads by day"),
    "actions": ("Dönüşüm işlemleri", "Conversion actions"),
    "action": ("İşlem", "Action"),
    "errors": ("Hatalar", "Errors"),
    "code": ("Hata kodu", "Error code"),
    "category": ("Tür", "Kind"),
    "count": ("Adet", "Count"),
    "advice": ("Ne yapmalı", "What to do"),
    "per_conversion": ("Dönüşüm başına", "Per conversion"),
    "no_errors": ("Bu dönemde hata yok.", "No errors in this period."),
    "VALIDATION": ("geçersiz veri", "invalid data"),
    "AUTH": ("yetki", "permission"),
    "TRANSIENT": ("geçici", "passing"),
    "notes": ("Notlar", "Notes"),
}
Count = Annotated[Decimal, Amount(most=10**9, places=0)]
Value = Annotated[Decimal, Amount(most=10**11)]


class DayUploads(Variables):
    day: Day = Field(description="the day")
    uploaded: Count = Field(Decimal(0), description="how many")
    failed: Count = Field(Decimal(0), description="how many")
    value: Value = Field(Decimal(0), description="total value")


class ActionUploads(Variables):
    name: Annotated[str, Text(160)] = Field(description="name of the action")
    uploaded: Count = Field(Decimal(0), description="how many")
    failed: Count = Field(Decimal(0), description="how many")
    value: Value = Field(Decimal(0), description="total value")


class ErrorCount(Variables):
    code: Annotated[str, Text(120)] = Field(description="Google's code")
    category: Annotated[str, Choice("VALIDATION", "AUTH", "TRANSIENT")] = Field(description="category of the error")
    count: Count = Field(Decimal(0), description="how many")
    advice: Annotated[str, Text(400)] = Field("", description="what to do about it")


class ConversionReport(PricedDocument):
    site: Annotated[str, Text(160)] = Field(description="the site's name")
    account: Annotated[str, Text(40)] = Field("", description="the Google Ads account")
    first_day: Day = Field(description="first day of the period")
    last_day: Day = Field(description="last day of the period")
    waiting: Count = Field(Decimal(0), description="rows not uploaded yet")
    days: Annotated[list[DayUploads], Rows(92)] = Field(description="one row a day, in order")
    actions: Annotated[list[ActionUploads], Rows(200, least=0)] = Field([], description="one row per conversion action")
    errors: Annotated[list[ErrorCount], Rows(200, least=0)] = Field([], description="errors of failed rows")
    notes: LongText = Field("", description="free text at the end")


def shape(report: ConversionReport) -> dict[str, object]:
    formatter = LocaleFormatter(report.locale, report.currency)
    words, days = formatter.labels(LABELS), report.days
    uploaded, failed = sum(day.uploaded for day in days), sum(day.failed for day in days)
    value = sum((day.value for day in days), Decimal(0))
    return {
        **dict(report),
        "first_day": formatter.day(report.first_day),
        "last_day": formatter.day(report.last_day),
        "totals": {
            "uploaded": formatter.number(uploaded),
            "failed": formatter.number(failed),
            "waiting": formatter.number(report.waiting),
            "success": formatter.percent(HUNDRED * uploaded / (uploaded + failed), 1) if uploaded + failed else "–",
            "value": formatter.money(value),
        },
        "bars": _bars(days, formatter),
        "highest": formatter.number(max(day.uploaded + day.failed for day in days)),
        "actions": [_action(action, formatter) for action in report.actions],
        "errors": [
            {**dict(error), "count": formatter.number(error.count), "kind": words[error.category]}
            for error in report.errors
        ],
        "words": words,
    }


def _bars(days: list[DayUploads], formatter: LocaleFormatter) -> list[dict[str, str]]:
    """Return a bar per day for a drawing of 1000 by 200, with failures stacked on uploads."""
    highest = max(*(day.uploaded + day.failed for day in days), Decimal(1))
    step = Decimal(1000) / len(days)
    every = -(-len(days) // MOST_LABELS)
    bars = []
    for index, day in enumerate(days):
        fits = index == 0 or (len(days) - index) * step >= LABEL  # the last ones would stick out of the page
        good, bad = (200 * count / highest for count in (day.uploaded, day.failed))
        bars.append(
            {
                "x": f"{index * step:.2f}",
                "width": f"{step * Decimal('0.86'):.2f}",
                "good_y": f"{200 - good:.2f}",
                "good_height": f"{good:.2f}",
                "bad_y": f"{200 - good - bad:.2f}",
                "bad_height": f"{bad:.2f}",
                "label": formatter.short_day(day.day) if index % every == 0 and fits else "",
            }
        )
    return bars


def _action(action: ActionUploads, formatter: LocaleFormatter) -> dict[str, object]:
    per_conversion = action.value / action.uploaded if action.uploaded else None
    return {
        **dict(action),
        "uploaded": formatter.number(action.uploaded),
        "failed": formatter.number(action.failed),
        "value": formatter.money(action.value),
        "per_conversion": formatter.money(round(per_conversion, 2)) if per_conversion is not None else "–",
    }


CONVERSION_REPORT = Document(
    "conversion_report",
    "Conversion report",
    ConversionReport,
    shape,
    number=("site", "first_day", "last_day"),
    recipient="site",
)
