"""CSV files as Turkish Excel and Google's template write them: what is certain is read, the rest is refused whole."""

from datetime import datetime, timedelta
from io import BytesIO
from zoneinfo import ZoneInfo

import pytest

from kilit.csv.numbers import decimal_mark
from kilit.csv.text import LONGEST_LINE, CsvError, find_encoding, read_batch, read_table_header
from kilit.csv.times import TimeFormat
from ociqueue.models import Conversion
from tests.support.imports import import_file

ISTANBUL = ZoneInfo("Europe/Istanbul")
NOON = (datetime.now(ISTANBUL) - timedelta(days=2)).replace(hour=12, minute=30, second=0, microsecond=0)
NAMES = ["conversionName", "gclid", "conversionTime", "conversionValue", "conversionCurrency", "sourceKey"]


def excel(*amounts: str, time: str = f"{NOON:%d.%m.%Y %H:%M}") -> str:
    rows = [f"Satış;click-{number};{time};{amount};TRY;" for number, amount in enumerate(amounts)]
    return "\r\n".join([";".join(NAMES), *rows, ""])


def records_of(text: str) -> list[tuple[int, str]]:
    stream = BytesIO(text.encode())
    header = read_table_header(stream)
    records = read_batch(stream, header, header.below, most=100)
    return [(record.number, record.text) for record in records]


@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1254"])
@pytest.mark.parametrize("separator", ["", "sep=;\r\n"], ids=["plain", "separator named"])
def test_a_file_of_turkish_excel_is_read(site, encoding: str, separator: str) -> None:
    tally = import_file(site, (separator + excel("1.250,50", "12,5", "1.250")).encode(encoding))

    assert (tally.created, tally.rejected) == (3, [])
    rows = Conversion.objects.order_by("gclid").values_list("action", "conversion_time", "value")
    assert [(name, time, str(value)) for name, time, value in rows] == [
        ("Satış", NOON, "1250.500"),
        ("Satış", NOON, "12.500"),
        ("Satış", NOON, "1250.000"),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (excel("12,50", "12.50").encode(), "Line 2 has a decimal comma and line 3 a decimal point"),
        (excel("1.250", "7").encode(), "Line 2: 1.250 could be a thousand or a fraction"),
        (excel("1").replace("Satış", "Δοκιμή").encode("cp1253"), "The encoding of the file is not certain"),
        (excel("1").encode("utf-16")[:-1], "The encoding of the file is not certain"),
    ],
    ids=["both marks", "no mark", "Greek", "half a character"],
)
def test_a_file_that_is_not_certain_is_refused_whole(site, content: bytes, sentence: str) -> None:
    with pytest.raises(CsvError, match=sentence):
        import_file(site, content)

    assert not Conversion.objects.exists()


@pytest.mark.django_db
def test_a_line_break_in_a_cell_stores_no_half_of_it(site) -> None:
    """The trial's file: the second half of the first record looks like a record of its own."""
    time = NOON.isoformat()
    good = f"Sale,click-b,{time},5,TRY,b"
    content = "\n".join([",".join(NAMES), '"Sale\n', f'Sale",click-a,{time},5,TRY,a', good])

    tally = import_file(site, content.encode())

    assert [(row.line.number, row.fields[0].field) for row in tally.rejected] == [(2, "conversionName")]
    assert list(Conversion.objects.values_list("source_key", flat=True)) == ["b"]
    assert tally.lines == 2


@pytest.mark.parametrize(
    ("below", "records"),
    [
        ('"a\nb",c\nd,e\n', [(2, '"a\nb",c\n'), (4, "d,e\n")]),
        ('"a\n\n\nb",c\n', [(2, '"a\n\n\nb",c\n')]),
        ('"a,c\nd,e\n', [(2, '"a,c\n'), (3, "d,e\n")]),
        ('"a,c\n"d",e\nf,g\n', [(2, '"a,c\n'), (3, '"d",e\n'), (4, "f,g\n")]),
        ('5" wide,c\nd,e\n', [(2, '5" wide,c\n'), (3, "d,e\n")]),
        ('"a""\nb",c\nd,e\n', [(2, '"a""\nb",c\n'), (4, "d,e\n")]),
        (f'"a\n{"x" * LONGEST_LINE}\nb",c\n', [(2, '"a\n'), (3, "x" * LONGEST_LINE + "\n"), (4, 'b",c\n')]),
    ],
    ids=["line break", "empty lines", "never closed", "closed by another", "inches", "quoted quote", "too long"],
)
def test_records_are_read_and_an_open_quote_costs_one_line(below: str, records: list[tuple[int, str]]) -> None:
    assert records_of(f"x,y\n{below}") == records


@pytest.mark.django_db
def test_googles_own_template_is_read(site) -> None:
    lines = [
        "Parameters:TimeZone=America/New_York",
        "Google Click ID,Conversion Name,Conversion Time,Conversion Value,Conversion Currency,Order ID,Ad User Data",
        f"click-a,Sale,{NOON:%m/%d/%Y} 06:30:00 PM,1250.5,TRY,order-a,Granted",
        f'click-b,Sale,"{NOON:%Y-%m-%d %H:%M:%S}+0300",7,TRY,order-b,',
    ]

    tally = import_file(site, "\n".join(lines).encode())

    assert (tally.created, tally.rejected) == (2, [])
    first, second = Conversion.objects.order_by("gclid")
    evening = NOON.replace(hour=18, tzinfo=ZoneInfo("America/New_York"))
    assert (first.conversion_time, first.source_key, first.consent_ad_user_data) == (evening, "order-a", "GRANTED")
    assert second.conversion_time == NOON


@pytest.mark.django_db
def test_the_instructions_of_googles_template_may_stay(site) -> None:
    lines = [
        "### INSTRUCTIONS ###,,,,",
        '# IMPORTANT: Remember to set the TimeZone value in the "parameters" row,,,,',
        '"# For instructions on how to set your timezones, visit http://goo.gl/T1C5Ov",,,,',
        ",,,,",
        "### TEMPLATE ###,,,,",
        '"Parameters:TimeZone=America/New_York;",,,,',
        "Google Click ID,Conversion Name,Conversion Time,Conversion Value,Conversion Currency",
        f"click-a,Sale,{NOON:%m/%d/%Y} 06:30:00 PM,1250.5,TRY",
        f"click-b,Sale,{NOON:%m/%d/%Y} 06:30:00 PM,many,TRY",
    ]

    tally = import_file(site, "\n".join(lines).encode())

    assert (tally.created, [rejected.line.number for rejected in tally.rejected]) == (1, [9])
    assert Conversion.objects.get().conversion_time == NOON.replace(hour=18, tzinfo=ZoneInfo("America/New_York"))


@pytest.mark.parametrize(
    ("text", "is_google", "time"),
    [
        ("15.11.2026 13:45", False, "2026-11-15T13:45:00+03:00"),
        ("5.1.2026 9:05:07", False, "2026-01-05T09:05:07+03:00"),
        ("2026-11-15 13:45", False, "2026-11-15T13:45:00+03:00"),
        ("2026-11-15T13:45:00Z", False, "2026-11-15T13:45:00Z"),
        ("11/15/2026 13:45:00", True, "2026-11-15T13:45:00+03:00"),
        ("Nov 15, 2026 1:45:00 PM", True, "2026-11-15T13:45:00+03:00"),
        ("2026-11-15 13:45:00 America/New_York", True, "2026-11-15T13:45:00-05:00"),
        ("11/15/2026 13:45:00 -0500", True, "2026-11-15T13:45:00-05:00"),
        ("15.13.2026 13:45", False, "15.13.2026 13:45"),
        ("2026-11-15", False, "2026-11-15"),
        ("yesterday", True, "yesterday"),
    ],
)
def test_times_get_an_offset_and_what_is_no_time_stays(text: str, *, is_google: bool, time: str) -> None:
    assert TimeFormat(ISTANBUL, is_google=is_google).read(text) == time


@pytest.mark.parametrize(
    ("text", "zone", "sentence"),
    [
        ("03/04/2026 13:45", "Europe/Istanbul", "could be in March or in April"),
        ("25.10.2026 02:30", "Europe/Berlin", "The clocks change at this time"),
        ("29.03.2026 02:30", "Europe/Berlin", "The clocks change at this time"),
    ],
    ids=["day or month first", "twice", "never"],
)
def test_a_time_with_two_meanings_is_refused(text: str, zone: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TimeFormat(ZoneInfo(zone)).read(text)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        *(("12,5", ","), ("12.5", "."), ("1.250,5", ","), ("1,250.5", "."), ("1 250,50", ","), ("1.250.000", ",")),
        *(("0,125", ","), ("1250.125", "."), ("1.250", ""), ("1,250", ""), ("1250", ""), ("1e3", ""), ("many", "")),
    ],
)
def test_an_amount_shows_its_decimal_mark_or_not(text: str, mark: str) -> None:
    assert decimal_mark(text) == mark


@pytest.mark.django_db
def test_between_commas_a_point_is_a_decimal_point(site) -> None:
    """As a program writes it, and as we export it: Kuwait's dinar has three digits."""
    import_file(site, f"{','.join(NAMES)}\nSale,click-a,{NOON.isoformat()},1.250,KWD,\n".encode())

    assert str(Conversion.objects.get().value) == "1.250"


def test_an_encoding_is_that_of_the_whole_file() -> None:
    late = ("a,b\n" + "x,y\n" * 300_000 + "ş,y\n").encode("cp1254")

    assert find_encoding(BytesIO(late)) == "cp1254"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1254"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_reading_can_go_on_at_every_record(encoding: str, ends: str) -> None:
    long = "ş" * (LONGEST_LINE + 5)
    text = f'sep=,\nad,değer\nşeker,"iki\nsatır"\n\n{long},1\n"açık,2\nson,3'.replace("\n", ends)
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    stream = BytesIO((mark + text).encode(encoding))
    header = read_table_header(stream)
    found = read_batch(stream, header, header.below, most=10)

    assert [record.number for record in found] == [3, 5, 6, 7, 8]
    assert found[-1].next.offset == len(stream.getvalue())
    for number, record in enumerate(found[:-1], start=1):
        assert read_batch(stream, header, record.next, most=10) == found[number:]
