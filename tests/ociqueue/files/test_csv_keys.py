"""Lines without a source key: a file that is imported again stores nothing, whatever became of its times."""

import os
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from threading import Thread
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from kilit.csv import reader as csv_reader
from ociqueue.files.conversions import ImportTally
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.models import Conversion, IdentifierKind
from ociqueue.operating.erasure import Person, forget
from tests.support.commands import output_of
from tests.support.examples import few
from tests.support.imports import import_file
from tests.support.redelivered import fail
from tests.support.turns import one_after_the_other

pytestmark = pytest.mark.django_db

HEADER = "conversionName,gclid,wbraid,conversionTime,conversionValue,conversionCurrency,sourceKey"
START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)

Line = tuple[str, int, str]  # click id, minute, value


def at(minute: int) -> str:
    return (START + timedelta(minutes=minute)).isoformat()


def file_of(*lines: Sequence[Any]) -> bytes:
    """Return a file of lines: click id, minute and, if given, value, source key and name."""
    texts = []
    for click, minute, *more in lines:
        value, key, name = [*more, *["99.90", "", "Satış"][len(more) :]]
        time = at(minute) if isinstance(minute, int) else minute
        texts.append(f"{name},{click},,{time},{value},TRY,{key}")
    return "\n".join([HEADER, *texts]).encode()


def counts(tally: ImportTally) -> tuple[int, int, int, int]:
    return tally.created, tally.duplicates, tally.differing_lines, tally.rejected_lines


def reasons(tally: ImportTally) -> list[str]:
    return [str(field) for line in tally.differing for field in line.fields]


def test_a_corrected_time_is_no_second_conversion_and_is_reported(site) -> None:
    import_file(site, file_of(("aa", 0), ("bb", 0)))

    tally = import_file(site, file_of(("aa", 5), ("bb", 0)))

    assert counts(tally) == (0, 2, 1, 0)
    assert reasons(tally) == [f"line 2: conversionTime “{at(5)}”: Already imported with {at(0)}."]
    assert {row.conversion_time.isoformat() for row in Conversion.objects.all()} == {at(0)}, "the stored time stays"


@pytest.mark.parametrize("key", ["", "order-1"])
def test_another_value_or_currency_is_reported_also_for_lines_with_a_source_key(site, key: str) -> None:
    import_file(site, file_of(("aa", 0, "99.90", key)))
    Conversion.objects.all().claim(limit=1)  # in flight: it is not corrected any more

    same = import_file(site, file_of(("aa", 0, "99.9", key)))
    other = import_file(site, file_of(("aa", 0, "5", key)).replace(b"TRY", b"eur"))

    assert counts(same) == (0, 1, 0, 0)
    assert reasons(other) == [
        "line 2: conversionValue “5”: Already imported with 99.90.",
        "line 2: conversionCurrency “eur”: Already imported with TRY.",
    ]


def test_a_stored_time_is_shown_in_the_zone_of_the_line(site) -> None:
    import_file(site, file_of(("aa", 0)))
    elsewhere = timezone(timedelta(hours=3))

    tally = import_file(site, file_of(("aa", (START + timedelta(minutes=5)).astimezone(elsewhere).isoformat())))

    assert reasons(tally)[0].endswith(f"Already imported with {START.astimezone(elsewhere).isoformat()}.")


def test_a_second_conversion_of_a_click_in_the_same_file_is_a_row_of_its_own(site) -> None:
    file = file_of(("aa", 0), ("aa", 5), ("aa", 0), ("aa", 0, "99.90", "", "Teklif"))

    assert counts(import_file(site, file)) == (3, 1, 0, 0), "the third line repeats the first"
    assert counts(import_file(site, file)) == (0, 4, 0, 0)


def test_a_second_conversion_of_a_click_in_another_file_is_reported_and_stored_with_a_key(site) -> None:
    import_file(site, file_of(("aa", 0)))

    assert counts(import_file(site, file_of(("aa", 5)))) == (0, 1, 1, 0)
    assert counts(import_file(site, file_of(("aa", 5, "99.90", "second")))) == (1, 0, 0, 0)


def test_files_that_overlap_store_each_conversion_once_whatever_their_order(site) -> None:
    import_file(site, file_of(("aa", 0)))

    newest_first = import_file(site, file_of(("aa", 9), ("aa", 0)))
    window = import_file(site, file_of(("aa", 9)))

    assert (counts(newest_first), counts(window)) == ((1, 1, 0, 0), (0, 1, 0, 0))
    assert sorted(row.conversion_time.isoformat() for row in Conversion.objects.all()) == [at(0), at(9)]


def test_clicks_of_other_kinds_cases_and_sites_are_others(site, make_site) -> None:
    file = file_of(("aa", 0), ("AA", 0)) + f"\nSatış,,aa,{at(0)},1,TRY,".encode()

    assert counts(import_file(site, file)) == (3, 0, 0, 0)
    assert counts(import_file(make_site(), file)) == (3, 0, 0, 0)
    assert counts(import_file(site, file)) == (0, 3, 0, 0)


def test_a_file_does_not_bring_back_what_was_erased(site) -> None:
    import_file(site, file_of(("aa", 0), ("bb", 0), ("bb", 5)))
    Conversion.objects.claim(limit=9)
    Conversion.objects.all().move("ack")
    for click in ("aa", "bb"):
        list(forget(Person(IdentifierKind.CLICK_ID, click), [site]))

    again = import_file(site, file_of(("aa", 0), ("bb", 0), ("bb", 5)))

    assert counts(again) == (0, 3, 0, 0)
    assert not Conversion.objects.exclude(gclid="").exists()


def test_a_corrected_copy_counts_as_what_is_stored(site) -> None:
    import_file(site, file_of(("aa", 0)))
    list(replace_rows(site, [Correction(str(fail()), {"conversionTime": at(5)})]))

    assert counts(import_file(site, file_of(("aa", 5)))) == (0, 1, 0, 0)
    assert reasons(import_file(site, file_of(("aa", 6)))) == [
        f"line 2: conversionTime “{at(6)}”: Already imported with {at(5)}."
    ]


def test_a_rejected_line_beside_others_of_its_click_keeps_its_place(site) -> None:
    bad, good = ("aa", 0, "many"), ("aa", 5)
    first = import_file(site, file_of(bad, good))
    (rejected,) = first.rejected
    key = rejected.line.cells["sourceKey"]

    alone = import_file(site, file_of(("aa", 0, "7", key)))
    whole = import_file(site, file_of(("aa", 0, "7"), good))

    assert (counts(first), counts(alone), counts(whole)) == ((1, 0, 0, 1), (1, 0, 0, 0), (0, 2, 0, 0))


def test_rejected_lines_of_other_clicks_get_no_key(site) -> None:
    tally = import_file(site, file_of(("aa", 0, "many"), ("undefined", 0), ("undefined", 5)))

    assert [line.line.cells.get("sourceKey") for line in tally.rejected] == [None, None, None]


clicks = st.lists(
    st.tuples(st.sampled_from(["aa", "AA", "bb", "cc"]), st.integers(0, 6), st.sampled_from(["1", "2", "many"])),
    max_size=8,
)


def most_of(*files: list[Line]) -> int:
    """How many rows there must be: of each click as many as the file with the most times has."""
    most: dict[str, int] = defaultdict(int)
    for lines in files:
        for click in {click for click, _, _ in lines}:
            most[click] = max(most[click], len({minute for own, minute, _ in lines if own == click}))
    return sum(most.values())


@few(20)
@given(lines=clicks, shift=st.integers(-9, 9), order=st.randoms(use_true_random=False), batch=st.integers(1, 4))
def test_a_file_with_changed_times_and_values_adds_no_row(site, lines: list[Line], shift, order, batch) -> None:
    with transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "BATCH", batch)
        valid = [(click, minute, "1" if value == "many" else value) for click, minute, value in lines]
        times = [minute for _, minute, _ in valid]
        order.shuffle(times)
        permuted = [(click, minute, value) for (click, _, value), minute in zip(valid, times, strict=True)]
        shifted = [(click, minute + shift, "3") for click, minute, _ in valid]
        import_file(site, file_of(*valid))
        stored = set(Conversion.objects.values_list("order_id", "conversion_time", "value"))

        again = [import_file(site, file_of(*changed)) for changed in (valid, shifted, order.sample(valid, len(valid)))]

        assert [tally.created for tally in again] == [0, 0, 0]
        assert again[0].duplicates == again[1].duplicates == len(lines)
        assert again[1].differing_lines == len(lines), "another value, if not another time"
        assert set(Conversion.objects.values_list("order_id", "conversion_time", "value")) == stored
        import_file(site, file_of(*permuted))
        assert Conversion.objects.count() == most_of(valid, permuted)
        transaction.set_rollback(True)


@few(20)
@given(files=st.lists(clicks, min_size=1, max_size=3), batch=st.integers(1, 4))
def test_a_dry_run_says_what_the_import_then_does(site, files: list[list[Line]], batch: int) -> None:
    with transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "BATCH", batch)
        for lines in files:
            planned, done = import_file(site, file_of(*lines), dry_run=True), import_file(site, file_of(*lines))
            assert planned == done
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_two_imports_at_the_same_moment_store_each_conversion_once(site) -> None:
    first, second = one_after_the_other(
        lambda: import_file(site, file_of(("aa", 0))), lambda: import_file(site, file_of(("aa", 5), ("aa", 0)))
    )

    assert (counts(first), counts(second)) == ((1, 0, 0, 0), (1, 1, 0, 0))
    assert sorted(row.conversion_time.isoformat() for row in Conversion.objects.all()) == [at(0), at(5)]


def test_the_command_reports_them_with_advice_and_reads_a_pipe(site, tmp_path) -> None:
    import_file(site, file_of(("aa", 0)))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=[file_of(("aa", 5), ("bb", 0, "many"))])
    writer.start()

    *lines, summary, advice = output_of("oci_import", pipe, site=site.public_id).splitlines()

    writer.join()
    assert lines == [
        f"line 2: conversionTime “{at(5)}”: Already imported with {at(0)}.",
        "line 3: conversionValue “many”: Expected a number.",
    ]
    assert summary == "Stored 0 of 2 lines; 1 duplicates, 1 rejected. 1 duplicate differs from what is stored."
    assert advice.endswith("and give a second conversion of the same click a sourceKey.")
