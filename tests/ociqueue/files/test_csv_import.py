"""CSV import: the API's checks, errors by line, and a second run stores nothing."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from kilit.csv.reader import BATCH
from kilit.csv.text import LONGEST_LINE, CsvError
from ociqueue.files import import_run
from ociqueue.management.commands.oci_import import ProgressBar
from ociqueue.models import Conversion, ImportJob
from tests.support.commands import output_of
from tests.support.imports import TIME, import_file

pytestmark = pytest.mark.django_db

HEADER = "conversionName,gclid,wbraid,conversionTime,conversionValue,conversionCurrency,sourceKey"


def line(gclid: str = "Cj0KCQ-a", *, wbraid: str = "", value: str = "99.90", key: str = "", time: str = TIME) -> str:
    return f"Satış,{gclid},{wbraid},{time},{value},TRY,{key}"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Write a file, import it, and return what was said."""

    def run(site: Any, content: str | bytes, **options: Any) -> str:
        path = tmp_path / "conversions.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return output_of("oci_import", path, site=str(getattr(site, "public_id", site)), **options)

    return run


def test_a_file_is_stored_and_counted(run, site) -> None:
    reported = run(site, "\n".join([HEADER, line(), line("", wbraid="CkQKC-b"), line("third", key="order-3")]))

    assert reported == "Stored 3 of 3 lines; 0 duplicates, 0 rejected.\n"
    assert set(Conversion.objects.values_list("gclid", "wbraid", "status")) == {
        ("Cj0KCQ-a", "", "QUEUED"),
        ("", "CkQKC-b", "QUEUED"),
        ("third", "", "QUEUED"),
    }
    assert Conversion.objects.get(source_key="order-3").action == "Satış"


def test_a_second_run_stores_nothing(run, site) -> None:
    file = "\n".join([HEADER, line(), line(key="order-1"), line("Cj0KCQ-b", value="5")])

    first, second = run(site, file), run(site, file)

    assert first == "Stored 3 of 3 lines; 0 duplicates, 0 rejected.\n"
    assert second == "Stored 0 of 3 lines; 3 duplicates, 0 rejected.\n"
    assert Conversion.objects.count() == 3
    assert Conversion.objects.get(gclid="Cj0KCQ-b").source_key.startswith("csv2:")


def test_refused_lines_are_reported_by_number_field_and_reason_and_the_rest_is_stored(run, site) -> None:
    file = "\n".join([HEADER, line(), line("", value="many"), "", line("undefined"), line("last")])

    reported = run(site, file).splitlines()

    assert reported == [
        "line 3: conversionValue “many”: Expected a number.",
        "line 3: gclid: Exactly one of gclid, wbraid and gbraid is required.",
        "line 5: gclid “undefined”: “undefined” looks like a missing value.",
        "Stored 2 of 4 lines; 0 duplicates, 2 rejected.",
    ]


def test_a_dry_run_says_the_same_and_stores_nothing(run, site) -> None:
    run(site, "\n".join([HEADER, line("known")]))
    file = "\n".join([HEADER, line("known"), line("new"), line("new"), line("")])

    reported = run(site, file, dry_run=True).splitlines()

    assert reported[-1] == (
        "Would store 1 of 4 lines; 2 duplicates, 1 rejected. This was a dry run: nothing was stored."
    )
    assert Conversion.objects.count() == 1
    assert run(site, file).splitlines()[-1] == "Stored 1 of 4 lines; 2 duplicates, 1 rejected."


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_every_usual_dialect_is_read(run, site, mark: bytes, delimiter: str, newline: str) -> None:
    lines = [HEADER, f'"Satış",Cj0KCQ-a,,{TIME},"12.5",TRY,', f'"a ""quoted"" name",0AA,,{TIME},1,TRY,']
    file = newline.join(text.replace(",", delimiter) for text in lines)

    reported = run(site, mark + file.encode())

    assert reported == "Stored 2 of 2 lines; 0 duplicates, 0 rejected.\n"
    assert set(Conversion.objects.values_list("action", flat=True)) == {"Satış", 'a "quoted" name'}


def test_a_currency_that_is_assumed_is_reported(run, site) -> None:
    reported = run(site, f"conversionName,gclid,conversionTime,conversionValue\nSatış,Cj0,{TIME},1")

    assert reported.endswith("1 have no currency and get the site's default.\n")
    assert Conversion.objects.get().currency == "TRY"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"\n \n", "The file is empty."),
        (b"gclid;Satis\x00\n", "not a text file"),
        ("gclid,Satış".encode("utf-16-le"), "not a text file"),
        ("gclid,Продажа\n".encode("cp1251"), "The encoding of the file is not certain"),
        (b"x" * (LONGEST_LINE + 1), "not a text file"),
        (b'gclid,"conversionName\nx', "A quote in the header is not closed."),
        (b"gclid,name\n", "Unknown columns: name; expected conversionName, conversionTime"),
        (b"gclid,conversionName\n", "Missing columns: conversionTime, conversionValue."),
        (HEADER.replace("gclid,wbraid,", "").encode(), "A column gclid or wbraid or gbraid is missing."),
        (f"{HEADER},gclid".encode(), "Repeated columns: gclid."),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_in_a_sentence(run, site, content: bytes, sentence: str) -> None:
    with pytest.raises(CommandError, match=r"^Cannot read ") as refused:
        run(site, content)

    assert sentence in str(refused.value)
    assert refused.value.returncode == 1
    assert not Conversion.objects.exists()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'"never closed,a,,now,1,TRY,', "A quote is misplaced, or not closed on this line."),
        (b'"a"b,a,,now,1,TRY,', "A quote is misplaced, or not closed on this line."),
        (b"short,line", "2 cells, but the header has 7."),
        (b"a,b,c,d,e,f,g,h", "8 cells, but the header has 7."),
        (b"x" * 3 * LONGEST_LINE, f"Longer than {LONGEST_LINE:,} characters."),
        (line("nul\x00").encode(), "gclid “nul?”: Control characters and broken Unicode are not allowed."),
    ],
    ids=["open quote", "quote inside", "short", "long", "too long", "nul"],
)
def test_a_bad_line_costs_only_itself(run, site, bad: bytes, reason: str) -> None:
    file = b"\n".join([HEADER.encode(), line("before").encode(), bad, line("after").encode()])

    reported = run(site, file).splitlines()

    assert reported == [f"line 3: {reason}", "Stored 2 of 3 lines; 0 duplicates, 1 rejected."]
    assert set(Conversion.objects.values_list("gclid", flat=True)) == {"before", "after"}


@pytest.mark.parametrize("hours", [16, -16])
def test_a_line_with_an_odd_offset_costs_its_neighbours_nothing(run, site, hours: int) -> None:
    when = datetime.now(timezone(timedelta(hours=hours))) - timedelta(days=1)

    reported = run(site, "\n".join([HEADER, line("before"), line("odd", time=when.isoformat()), line("after")]))

    assert reported == "Stored 3 of 3 lines; 0 duplicates, 0 rejected.\n"
    assert Conversion.objects.get(gclid="odd").conversion_time == when


def test_a_header_alone_is_no_failure(run, site) -> None:
    assert run(site, HEADER) == "Nothing to import: the file has a header and no lines.\n"


def test_a_site_goes_by_public_id_or_uuid_and_an_unknown_one_is_named(run, site) -> None:
    run(site.pk, f"{HEADER}\n{line()}")

    assert Conversion.objects.get().site == site
    with pytest.raises(CommandError, match=r"There is no site nowhere\."):
        run("nowhere", HEADER)


def test_a_file_that_is_not_there_is_reported(site, tmp_path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command("oci_import", tmp_path / "none.csv", site=site.public_id)
    with pytest.raises(CommandError, match="Is a directory"):
        call_command("oci_import", tmp_path, site=site.public_id)


def test_batches_are_reported_as_they_are_stored(site) -> None:
    lines = (line(f"click-{number}") for number in range(BATCH + 1))

    file, stored = BytesIO("\n".join([HEADER, *lines]).encode()), []

    def report(tally: Any, _done_bytes: int) -> None:
        stored.append((tally.created, Conversion.objects.count()))

    import_run.import_now(site, file, is_confirmed=True, report=report)

    assert stored == [(BATCH, BATCH), (1, BATCH + 1)]


def test_what_was_stored_is_reported_when_the_rest_fails(site, tmp_path, monkeypatch) -> None:
    def stopped_after_one(job: ImportJob) -> Any:
        yield next(tally for tally in import_run.steps(job) if tally)
        raise KeyboardInterrupt

    stopping = replace(import_run.ENGINE, steps=stopped_after_one)
    monkeypatch.setattr(import_run, "ENGINE", stopping)
    path, out = tmp_path / "conversions.csv", StringIO()
    path.write_text(f"{HEADER}\n{line()}")

    with pytest.raises(CommandError, match="a second run stores the rest") as stopped:
        call_command("oci_import", path, site=site.public_id, stdout=out)

    assert stopped.value.returncode == 130
    assert out.getvalue() == "Stored 1 of 1 lines; 0 duplicates, 0 rejected.\n"
    assert ImportJob.objects.get().status == "CANCELLED", "no worker goes on"


def test_a_stream_stays_open_for_whoever_opened_it(site) -> None:
    stream = BytesIO(b"nonsense\n")

    with pytest.raises(CsvError):
        import_file(site, stream)

    assert not stream.closed


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True

    def write(self, text: str, style: Any = None, ending: str = "") -> int:
        return super().write(text)


def test_the_bar_is_drawn_for_people_only() -> None:
    watched, piped = Terminal(), StringIO()

    for out in (watched, piped):
        bar = ProgressBar(out, 200)
        bar.show(100, "1,234 lines")
        bar.clear()

    assert watched.getvalue() == f"\r\x1b[K{'█' * 15}{'░' * 15}  50%  1,234 lines\r\x1b[K"
    assert piped.getvalue() == ""
