"""A report of offline conversions over a period: what was uploaded, what failed and why."""

from decimal import Decimal
from typing import Any

from pdfjobs.documents.definition import Document, read_sample
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.pricing import HUNDRED, LANGUAGE
from pdfjobs.documents.schema import Amount, Choice, Day, FieldGroup, Rows, Text

MOST_DAYS = 92
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
    "day": ("Gün", "Day"),
    "actions": ("Dönüşüm işlemleri", "Conversion actions"),
    "action": ("İşlem", "Action"),
    "errors": ("Hatalar", "Errors"),
    "code": ("Hata kodu", "Error code"),
    "category": ("Tür", "Kind"),
    "count": ("Adet", "Count"),
    "advice": ("Ne yapmalı", "What to do"),
    "total": ("Toplam", "Total"),
    "per_conversion": ("Dönüşüm başına", "Per conversion"),
    "no_errors": ("Bu dönemde hata yok.", "No errors in this period."),
    "VALIDATION": ("geçersiz veri", "invalid data"),
    "AUTH": ("yetki", "permission"),
    "TRANSIENT": ("geçici", "passing"),
    "notes": ("Notlar", "Notes"),
}
COUNT = Amount("how many", Decimal(0), most=Decimal(10**9), places=0)
VALUE = Amount("total value", Decimal(0), most=Decimal(10**11))
SCHEMA = FieldGroup(
    fields={
        **LANGUAGE,
        "site": Text("the site's name", most=160),
        "account": Text("the Google Ads account", "", most=40),
        "first_day": Day("first day of the period"),
        "last_day": Day("last day of the period"),
        "waiting": Amount("rows not uploaded yet", Decimal(0), most=Decimal(10**9), places=0),
        "days": Rows(
            "one row a day, in order",
            row={"day": Day("the day"), "uploaded": COUNT, "failed": COUNT, "value": VALUE},
            most=MOST_DAYS,
        ),
        "actions": Rows(
            "one row per conversion action",
            [],
            row={"name": Text("name of the action", most=160), "uploaded": COUNT, "failed": COUNT, "value": VALUE},
            least=0,
            most=200,
        ),
        "errors": Rows(
            "errors of failed rows",
            [],
            row={
                "code": Text("Google's code", most=120),
                "category": Choice("category of the error", words=("VALIDATION", "AUTH", "TRANSIENT")),
                "count": COUNT,
                "advice": Text("what to do about it", "", most=400),
            },
            least=0,
            most=200,
        ),
        "notes": Text("free text at the end", "", most=2000, lines=True),
    }
)


def shape(given: dict[str, Any]) -> dict[str, Any]:
    formatter = LocaleFormatter(given["locale"], given["currency"])
    words, days = formatter.labels(LABELS), given["days"]
    uploaded, failed = sum(day["uploaded"] for day in days), sum(day["failed"] for day in days)
    value = sum((day["value"] for day in days), Decimal(0))
    return {
        **given,
        "first_day": formatter.day(given["first_day"]),
        "last_day": formatter.day(given["last_day"]),
        "totals": {
            "uploaded": formatter.number(uploaded),
            "failed": formatter.number(failed),
            "waiting": formatter.number(given["waiting"]),
            "success": formatter.percent(HUNDRED * uploaded / (uploaded + failed), 1) if uploaded + failed else "–",
            "value": formatter.money(value),
        },
        "bars": _bars(days, formatter),
        "highest": formatter.number(max(day["uploaded"] + day["failed"] for day in days)),
        "actions": [_action(action, formatter) for action in given["actions"]],
        "errors": [
            {**error, "count": formatter.number(error["count"]), "kind": words[error["category"]]}
            for error in given["errors"]
        ],
        "words": words,
    }


def _bars(days: list[dict[str, Any]], formatter: LocaleFormatter) -> list[dict[str, str]]:
    """Return a bar per day for a drawing of 1000 by 200, with failures stacked on uploads."""
    highest = max(*(day["uploaded"] + day["failed"] for day in days), Decimal(1))
    step = Decimal(1000) / len(days)
    every = -(-len(days) // MOST_LABELS)
    bars = []
    for index, day in enumerate(days):
        fits = index == 0 or (len(days) - index) * step >= LABEL  # the last ones would stick out of the page
        good, bad = (200 * day[kind] / highest for kind in ("uploaded", "failed"))
        bars.append(
            {
                "x": f"{index * step:.2f}",
                "width": f"{step * Decimal('0.86'):.2f}",
                "good_y": f"{200 - good:.2f}",
                "good_height": f"{good:.2f}",
                "bad_y": f"{200 - good - bad:.2f}",
                "bad_height": f"{bad:.2f}",
                "label": formatter.short_day(day["day"]) if index % every == 0 and fits else "",
            }
        )
    return bars


def _action(action: dict[str, Any], formatter: LocaleFormatter) -> dict[str, Any]:
    per_conversion = action["value"] / action["uploaded"] if action["uploaded"] else None
    return {
        **action,
        "uploaded": formatter.number(action["uploaded"]),
        "failed": formatter.number(action["failed"]),
        "value": formatter.money(action["value"]),
        "per_conversion": formatter.money(round(per_conversion, 2)) if per_conversion is not None else "–",
    }


CONVERSION_REPORT = Document("conversion_report", "Conversion report", SCHEMA, shape, read_sample("conversion_report"))
