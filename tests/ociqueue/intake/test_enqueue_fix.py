"""Corrected copies of rows that Google rejected after the script's report."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.forms.models import model_to_dict

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.models import Conversion, Site
from tests.support.commands import output_of
from tests.support.conversions import make_completed
from tests.support.guarded_columns import write_unguarded

pytestmark = pytest.mark.django_db


@pytest.fixture
def fix(tmp_path: Path) -> Callable[..., list[str]]:
    """Run the command, with a file when there is content for it, and return the lines it said."""

    def run(site: Site, *ids: Any, content: str | None = None, **options: Any) -> list[str]:
        if content is not None:
            options["file"] = tmp_path / "fixes.csv"
            options["file"].write_text(content)
        return output_of("oci_enqueue_fix", *map(str, ids), site=site.public_id, **options).splitlines()

    return run


def columns(row: Conversion) -> dict[str, Any]:
    """Return all there is in a row."""
    return {field.attname: getattr(row, field.attname) for field in Conversion._meta.concrete_fields}


def test_a_copy_is_queued_and_the_original_stays_as_it_is(fix, site) -> None:
    consents = {"consent_ad_user_data": "GRANTED", "consent_ad_personalization": "DENIED"}
    original = make_completed(site, source_key="order-1", **consents)

    reported = fix(site, original)

    copy = Conversion.objects.exclude(pk=original.pk).get()
    assert reported == [f"{original}: replaced by {copy}", "Corrected 1 of 1."]
    assert (copy.status, copy.replaces, copy.source_key, copy.attempt_count) == ("QUEUED", original, None, 0)
    assert copy.order_id == original.order_id
    same = [
        "action",
        "gclid",
        "wbraid",
        "gbraid",
        "conversion_time",
        "value",
        "currency",
        "consent_ad_user_data",
        "consent_ad_personalization",
        "site",
    ]
    assert model_to_dict(copy, same) == model_to_dict(original, same)
    assert columns(Conversion.objects.get(pk=original.pk)) == {**columns(original), "is_replaced": True}


def test_an_export_that_turkish_excel_saved_is_read_as_an_import_is(fix, site) -> None:
    Site.objects.update(time_zone="Europe/Istanbul")
    day = (datetime.now(UTC) - timedelta(days=2)).date()
    first, second = make_completed(site, value="10"), make_completed(site, value="20")
    content = f"id;conversionTime;conversionValue\n{first};{day:%d.%m.%Y} 13:45;1.250,50\n{second};;2.500\n"

    assert fix(site, content=content)[-1] == "Corrected 2 of 2."

    copy = Conversion.objects.get(replaces=first)
    assert copy.conversion_time.isoformat() == f"{day}T10:45:00+00:00"
    assert (copy.value, Conversion.objects.get(replaces=second).value) == (Decimal("1250.50"), 2500)


def test_a_file_corrects_what_it_fills_in(fix, site) -> None:
    renamed, other_click = make_completed(site, value="10.50"), make_completed(site, gclid="typed-by-hand")
    file = "id;conversionName;wbraid;conversionValue\n"
    file += f"{renamed};Teklif;;\n{other_click.pk};;CkQKC-w;7.25"

    reported = fix(site, content=file)

    assert reported[-1] == "Corrected 2 of 2."
    assert (renamed.replacement.action, renamed.replacement.value, renamed.replacement.gclid) == (
        "Teklif",
        renamed.value,
        renamed.gclid,
    )
    assert renamed.replacement.order_id == renamed.order_id
    assert (other_click.replacement.gclid, other_click.replacement.wbraid) == ("", "CkQKC-w")
    assert float(other_click.replacement.value) == 7.25


def test_corrections_are_checked_like_any_entry(fix, site) -> None:
    wrong, old = make_completed(site), make_completed(site)
    write_unguarded(Conversion.objects.filter(pk=old.pk), conversion_time=datetime.now(UTC) - timedelta(days=91))
    file = f"id,conversionValue,conversionCurrency\n{wrong},many,X1\n{old},,\n"

    reported = fix(site, content=file)

    assert reported == [
        (
            f"{wrong}: conversionCurrency: “X1” is not an ISO 4217 currency code, such as TRY.;"
            " conversionValue: Expected a number."
        ),
        f"{old}: conversionTime: The time is more than 90 days ago.",
        "Corrected 0 of 2.",
    ]
    assert Conversion.objects.count() == 2


def test_only_reported_rows_of_the_site_are_replaced(fix, site, make_site, make_conversion) -> None:
    queued, foreign, confirmed = make_conversion(site), make_completed(make_site()), make_completed(site)
    Conversion.objects.filter(pk=confirmed.pk).update(uploaded_at=datetime.now(UTC))
    good = make_completed(site)

    reported = fix(site, queued, foreign, confirmed, "nonsense", good, good)

    assert reported == [
        f"{queued}: nothing is corrected",
        f"{foreign}: id: there is no such row at this site",
        f"{confirmed}: Google confirmed it",
        "nonsense: id: expected seal_<uuid>",
        f"{good}: replaced by {good.replacement}",
        f"{good}: named twice",
        "Corrected 1 of 6.",
    ]


def test_a_dry_run_writes_nothing(fix, site) -> None:
    original = make_completed(site)
    events = Event.objects.count()

    reported = fix(site, original, dry_run=True)

    assert reported == [f"{original}: would be replaced", "Would correct 1 of 1."]
    assert (Conversion.objects.count(), Event.objects.count()) == (1, events)


def test_the_witness_tells_who_made_the_copy_and_why(fix, site) -> None:
    original = make_completed(site)

    fix(site, original)

    events = [*Event.objects.of(original.replacement), Event.objects.of(original).last()]
    assert [event.event_type for event in events] == ["JOB_CREATED", "REPLACES", "REPLACED"]
    assert {event.actor for event in events} == {"command:oci_enqueue_fix"}
    assert {english(event.message) for event in events} == {"A corrected copy of a row that Google rejected."}
    assert events[1].details == {"replaces": str(original)}
    assert events[2].details == {"replaced_by": str(original.replacement)}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "The file is empty."),
        ("conversionName\nSatış", "Missing columns: id."),
        ("id,clickId\n", "Unknown columns: clickId; expected id, conversionName"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_and_nothing_is_done(fix, site, content, sentence) -> None:
    original = make_completed(site)

    with pytest.raises(CommandError, match=sentence):
        fix(site, original, content=content)

    assert Conversion.objects.count() == 1


def test_a_line_that_cannot_be_read_is_reported_by_its_number(fix, site) -> None:
    original = make_completed(site)

    reported = fix(site, content=f"id,conversionName\n{original}\n{original},\n,Teklif")

    assert reported == [
        "line 2: 1 cells, but the header has 2.",
        f"{original}: replaced by {original.replacement}",
        "line 4: the id is missing",
        "Corrected 1 of 3.",
    ]


def test_somebody_has_to_be_named(fix, site) -> None:
    with pytest.raises(CommandError, match=r"Name rows, or give a --file\."):
        fix(site)
    with pytest.raises(CommandError, match="There is no site"):
        call_command("oci_enqueue_fix", "x", site="nowhere")
    with pytest.raises(CommandError, match="No such file"):
        call_command("oci_enqueue_fix", site=site.public_id, file=Path("/nowhere.csv"))
