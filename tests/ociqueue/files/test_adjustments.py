"""Files of adjustments: the API's checks, errors by line, and a second run changes nothing."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from kilit.csv import reader as csv_reader
from kilit.lock.models import Activity, Event
from ociqueue.files.adjustments import AdjustmentTally
from ociqueue.files.conversions import stored_contents
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.schemas.adjustments import FIELDS
from ociqueue.states import SyncMethod
from tests.support.adjusted import make_sold
from tests.support.commands import output_of
from tests.support.examples import few
from tests.support.imports import ADDRESS, confirm, import_file, upload

pytestmark = pytest.mark.django_db

HEADER = "id,orderId,conversionSourceKey,sourceKey,conversionName,kind,value,currency"


@pytest.fixture
def sold(site) -> list[Conversion]:
    """Three conversions that Google has, at a site of the Google Ads API."""
    Site.objects.filter(pk=site.pk).update(sync_method=SyncMethod.API)
    site.refresh_from_db()
    return [make_sold(site, source_key=f"order-{number}") for number in range(3)]


def file_of(*lines: str, header: str = HEADER) -> bytes:
    return "\n".join([header, *lines]).encode()


def counts(tally: AdjustmentTally) -> tuple[int, int, int]:
    return tally.created, tally.duplicates, tally.rejected_lines


def stored() -> set[tuple[Any, ...]]:
    return set(Adjustment.objects.values_list("original__source_key", "kind", "value", "currency", "source_key"))


def test_a_file_is_stored_once_however_its_lines_name_the_conversion(site, sold) -> None:
    file = file_of(
        f"{sold[0]},,,,,RETRACTION,,",
        f",{sold[1].order_id},,,,restatement,80,",
        ",,order-2,return-17,Satış,RESTATEMENT,70.50,TRY",
    )

    first, again = import_file(site, file), import_file(site, file)

    assert (counts(first), counts(again)) == ((3, 0, 0), (0, 3, 0))
    assert stored() == {
        ("order-0", "RETRACTION", None, "", None),
        ("order-1", "RESTATEMENT", 80, "TRY", None),
        ("order-2", "RESTATEMENT", 70.5, "TRY", "return-17"),
    }
    assert list(Activity.objects.filter(kind="import").values_list("queue", "rows")) == [("adjustment", 3)]


def test_a_source_key_alone_names_the_conversion(site, sold) -> None:
    tally = import_file(site, file_of("order-1,RETRACTION", header="sourceKey,kind"))

    assert counts(tally) == (1, 0, 0)
    assert Adjustment.objects.get().original == sold[1]


def test_rejected_lines_say_what_is_wrong_and_cost_the_others_nothing(site, sold) -> None:
    file = file_of(
        ",,nowhere,,,RETRACTION,,",
        ",,order-0,,,RESTATEMENT,,",
        ",,order-1,,,CANCEL,,",
        ",,order-2,,,RESTATEMENT,1.234,",
        "short,line",
        ",,order-2,,,RESTATEMENT,5,",
    )

    tally = import_file(site, file)

    assert [str(field) for line in tally.rejected for field in line.fields][:2] == [
        "line 2: conversionSourceKey “nowhere”: There is no such conversion at this site.",
        "line 3: A restatement needs the new value.",
    ]
    assert [line.line.number for line in tally.rejected] == [2, 3, 4, 5, 6, 7], "two lines adjust order-2"
    assert not Adjustment.objects.exists()


def test_a_line_with_a_source_key_adjusts_the_corrected_copy(site, sold) -> None:
    output_of("oci_enqueue_fix", str(sold[0]), site=site.public_id)
    copy = Conversion.objects.get(replaces=sold[0])

    tally = import_file(site, file_of(",,order-0,,,RETRACTION,,"))

    assert counts(tally) == (1, 0, 0)
    assert Adjustment.objects.get().original_id == copy.pk


def test_several_lines_for_one_conversion_need_keys_of_their_own(site, sold) -> None:
    unclear = file_of(f"{sold[0]},,,,,RESTATEMENT,80,", f",{sold[0].order_id},,,,RESTATEMENT,60,")
    clear = file_of(",,order-0,return-1,,RESTATEMENT,80,", ",,order-0,return-2,,RESTATEMENT,60,")

    assert counts(import_file(site, unclear)) == (0, 0, 2)
    assert (counts(import_file(site, clear)), counts(import_file(site, clear))) == ((2, 0, 0), (0, 2, 0))
    assert Adjustment.objects.newest().get().value == 60


def test_nothing_follows_a_retraction(site, sold) -> None:
    import_file(site, file_of(",,order-0,,,RETRACTION,,"))

    tally = import_file(site, file_of(",,order-0,,,RESTATEMENT,5,"))

    assert counts(tally) == (0, 0, 1)
    assert tally.rejected[0].fields[0].field == "kind"


def test_googles_own_file_is_understood(site, sold) -> None:
    header = "Order ID,Conversion Name,Adjustment Time,Adjustment Type,Adjusted Value,Adjusted Value Currency"
    file = file_of(
        header,
        f"{sold[0].order_id},Satış,2026-11-15 10:00:00,RETRACT,,",
        f"{sold[1].order_id},Satış,2026-11-15 10:00:00,RESTATE,40,TRY",
        f"{sold[2].order_id},Teklif,2026-11-15 10:00:00,RESTATE,40,TRY",
        header="Parameters:TimeZone=Europe/Istanbul",
    )

    tally = import_file(site, file)

    assert counts(tally) == (2, 0, 1), "the third has another name"
    assert "“Adjustment Time” is ignored" in tally.summary(dry_run=False)


names = st.sampled_from(["order-0", "order-1", "nowhere"])
values = st.sampled_from([("RETRACTION", ""), ("RESTATEMENT", "5"), ("RESTATEMENT", "6"), ("RESTATEMENT", "")])
lines = st.lists(st.tuples(names, st.sampled_from(["", "k1", "k2"]), values), max_size=5)


@few(20)
@given(lines=lines)
def test_a_second_run_changes_nothing_and_a_dry_run_says_what_a_run_does(site, sold, lines: Any) -> None:
    with transaction.atomic():
        file = file_of(*(f",,{name},{key},,{kind},{value}," for name, key, (kind, value) in lines))

        planned, done = import_file(site, file, dry_run=True), import_file(site, file)
        before = stored()
        again = import_file(site, file)

        assert planned == done
        assert (again.created, again.duplicates) == (0, done.created + done.duplicates)
        assert again.rejected == done.rejected
        assert stored() == before
        transaction.set_rollback(True)


def test_lines_for_one_conversion_are_noticed_across_batches(site, sold, monkeypatch) -> None:
    monkeypatch.setattr(csv_reader, "BATCH", 1)

    assert counts(import_file(site, file_of(*[",,order-0,,,RESTATEMENT,5,"] * 2))) == (0, 0, 2)


def test_the_command_imports_adjustments(site, sold, tmp_path: Path) -> None:
    path = tmp_path / "adjustments.csv"
    path.write_bytes(file_of(",,order-0,,,RESTATEMENT,80,", ",,nowhere,,,RETRACTION,,"))

    planned = output_of("oci_import", path, site=site.public_id, dry_run=True)
    assert not Adjustment.objects.exists()
    done = output_of("oci_import", path, site=site.public_id)

    reason = "line 3: conversionSourceKey “nowhere”: There is no such conversion at this site."
    assert (planned + done).splitlines() == [
        reason,
        "Would store 1 of 2 adjustments; 0 duplicates, 1 rejected. This was a dry run: nothing was stored.",
        reason,
        "Stored 1 of 2 adjustments; 0 duplicates, 1 rejected.",
    ]
    assert Event.objects.of(Adjustment.objects.get()).first().actor == "command:oci_import"


def test_the_page_checks_and_stores_adjustments_and_offers_the_rejected_ones(site, sold, operator) -> None:
    file = file_of(",,order-0,,,RESTATEMENT,80,", ",,nowhere,,,RETRACTION,,")
    checked = upload(operator, site, file)
    assert not Adjustment.objects.exists()
    done = confirm(operator)

    assert "This is a file of adjustments." in checked.text
    assert "Adjust 1 conversion" in checked.text
    assert done.context["summary"] == "Stored 1 of 2 adjustments; 0 duplicates, 1 rejected."
    offered = b"".join(operator.get(done.context["rejected"]["address"]).streaming_content)
    (line,) = csv.DictReader(StringIO(offered.decode("utf-8-sig")))
    assert (line["conversionSourceKey"], line["kind"]) == ("nowhere", "RETRACTION")
    assert counts(import_file(site, offered.replace(b"nowhere", b"order-1"))) == (1, 0, 0), "corrected, it is imported"


def test_the_page_offers_a_template_of_adjustments(site, operator) -> None:
    file = b"".join(operator.get(f"{ADDRESS}template/?adjustments").streaming_content)

    assert f'href="{ADDRESS}template/?adjustments"' in operator.get(ADDRESS).text
    assert file.decode("utf-8-sig").splitlines()[0] == ",".join(FIELDS)
    tally = import_file(site, file)
    assert counts(tally) == (0, 0, 2)
    assert {field.reason for line in tally.rejected for field in line.fields} == {
        "There is no such conversion at this site."
    }


def test_an_adjusted_value_counts_as_what_is_stored(site, sold) -> None:
    import_file(site, file_of(",,order-0,,,RESTATEMENT,80,"))

    contents = stored_contents(row.pk for row in sold)

    assert [contents[row.pk].split("\n")[1] for row in sold[:2]] == ["80.00", "100.00"]
