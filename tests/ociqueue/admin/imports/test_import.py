"""The console's import: look first, then store."""

import csv
import re
from io import StringIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kilit.csv import reader
from kilit.lock.models import Activity, Event
from ociqueue.admin.imports import import_jobs
from ociqueue.admin.imports import pages as imports
from ociqueue.files import import_run
from ociqueue.models import Conversion, ImportChunk, ImportJob
from ociqueue.schemas.conversions import FIELDS, without_identifiers
from ociqueue.states import IMPORTS
from tests.support.imports import ADDRESS, HEADER, PAGES, TIME, confirm, upload

pytestmark = pytest.mark.django_db

GOOD = f"{HEADER}Satış,first,{TIME},1,TRY\nSatış,second,{TIME},2,TRY\nSatış,,{TIME},3,TRY\n"


def test_a_file_is_checked_and_then_stored(operator, site) -> None:
    checked = upload(operator, site, GOOD)
    job = ImportJob.objects.get()
    assert (job.status, job.checked["created"], ImportChunk.objects.count()) == ("READY", 2, 1)
    assert not Conversion.objects.exists()
    stored = confirm(operator)

    assert checked.context["summary"].startswith("Would store 2 of 3 lines; 0 duplicates, 1 rejected.")
    assert stored.context["summary"] == "Stored 2 of 3 lines; 0 duplicates, 1 rejected."
    for answer in (checked, stored):
        (rejected,) = answer.context["rejected"]["fields"]
        assert (rejected.line, rejected.field) == (4, "gclid")
        assert "Exactly one of gclid, wbraid and gbraid is required." in answer.content.decode()
    assert set(Conversion.objects.values_list("site", "gclid")) == {(site.pk, "first"), (site.pk, "second")}
    assert Event.objects.of(Conversion.objects.first()).get().actor == "operator:ayse"
    job = ImportJob.objects.get()
    assert (job.status, job.counts["created"], ImportChunk.objects.count()) == ("DONE", 2, 0)
    assert "satışlar.csv" in operator.get(PAGES).text
    assert not Activity.objects.filter(queue="conversion_import").exists(), "the activity has one line"
    assert Activity.objects.get(kind="import").rows == 2


def test_a_check_that_no_one_confirms_is_not_listed_once_it_ended(operator, site) -> None:
    upload(operator, site, GOOD)
    job = ImportJob.objects.get()
    assert "satışlar.csv" in operator.get(PAGES).text

    import_run.ENGINE.cancel(job)

    assert "satışlar.csv" not in operator.get(PAGES).text
    assert "satışlar.csv" in operator.get(f"{PAGES}{job.pk}/change/").text


def test_a_check_that_takes_too_long_for_a_request_is_left_to_workers(operator, site, monkeypatch) -> None:
    monkeypatch.setattr(import_run, "SECONDS", 0)
    monkeypatch.setattr(reader, "BATCH", 1)

    answer = upload(operator, site, GOOD)
    import_run.ENGINE.work_due()

    job = ImportJob.objects.get()
    assert answer.headers["Location"] == f"{PAGES}{job.pk}/change/"
    assert (job.status, Conversion.objects.count()) == ("READY", 0)


def test_an_import_that_takes_too_long_for_a_request_is_left_to_workers(operator, site, monkeypatch) -> None:
    upload(operator, site, GOOD)
    monkeypatch.setattr(import_run, "SECONDS", 0)
    monkeypatch.setattr(reader, "BATCH", 1)

    confirm(operator)
    assert Conversion.objects.count() == 1
    import_run.ENGINE.work_due()

    assert (ImportJob.objects.get().status, Conversion.objects.count()) == ("DONE", 2)


@pytest.mark.parametrize("state", ["READING", "CHECKING"])
def test_nothing_is_stored_that_was_not_checked(operator, site, monkeypatch, state: str) -> None:
    monkeypatch.setattr(import_run, "AT_ONCE", 0)
    monkeypatch.setattr(reader, "BATCH", 1)
    upload(operator, site, GOOD)
    while ImportJob.objects.get().status != state:
        import_run.ENGINE.work(ImportJob.objects.all().claim_now(), until=0)

    refused = confirm(operator)

    assert f"Nothing was changed. Its state: {IMPORTS.labels[state]}." in refused.text
    assert not Conversion.objects.exists()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "The file is empty."),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "The encoding of the file is not certain; save the file as “CSV UTF-8”."),
        (b"a\x00b\n", "This is not a text file with a header line; save the file as “CSV UTF-8”."),
        (b"gclid,name\n", "Unknown columns: name; expected"),
    ],
)
def test_a_bad_file_is_reported_in_a_sentence(make_person, site, content: bytes, fault: str) -> None:
    answer = upload(make_person(sites={site: "operator"}), site, content)

    assert answer.status_code == 200
    assert answer.context["faults"][0].startswith(f"CSV file: {fault}")
    assert not answer.context["may_start"]


def test_what_a_file_says_is_text_on_the_page(operator, site) -> None:
    line = upload(operator, site, f"{HEADER}Satış,first,{TIME},1,<B>\n").content.decode()
    header = upload(operator, site, f"{HEADER.strip()},<img src=x onerror=run()>\n").content.decode()

    assert "“&lt;B&gt;” is not an ISO 4217 currency" in line
    assert "&lt;img src=x onerror=run()&gt;" in header
    assert "<B>" not in line
    assert "<img src=x" not in header


def test_a_file_beyond_the_limit_is_refused_in_a_sentence(make_person, site, monkeypatch) -> None:
    monkeypatch.setattr(imports.UploadForm.base_fields["file"], "megabytes", 0)

    answer = upload(make_person(sites={site: "operator"}), site, GOOD)

    assert answer.context["faults"] == ["CSV file: Larger than 0 MB; split the file."]


def test_many_refused_lines_are_counted_and_the_first_shown(make_person, site, monkeypatch) -> None:
    monkeypatch.setattr(import_jobs, "MOST_SHOWN", 5)

    answer = upload(make_person(sites={site: "operator"}), site, HEADER + f"Satış,,{TIME},1,TRY\n" * 12)

    assert "… and 7 more lines." in answer.content.decode()
    assert not answer.context["may_start"], "there is nothing to import"


def test_only_operators_import_and_only_for_sites_they_run(make_person, make_site) -> None:
    mine, seen = make_site(), make_site(name="Rakip")
    operator = make_person(sites={mine: "operator", seen: "viewer"})
    viewer = make_person("ali", role="viewer", sites={mine: "operator"})

    answer = upload(operator, seen, GOOD)

    assert answer.context["faults"][0].startswith("Site: Select a valid choice.")
    assert list(answer.context["form"].fields["site"].queryset) == [mine]
    assert viewer.get(ADDRESS).status_code == 403
    assert upload(viewer, mine, GOOD).status_code == 403
    assert "Import CSV" not in viewer.get("/admin/ociqueue/conversion/").content.decode()
    assert "Import CSV" in operator.get("/admin/ociqueue/conversion/").content.decode()


def lines_of(client: Client, report: Any) -> str:
    return b"".join(client.get(report["address"]).streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]


def test_the_template_imports_as_it_is(make_person, make_site) -> None:
    site = make_site(default_currency="")
    operator = make_person(sites={site: "operator"})
    file = b"".join(operator.get(f"{ADDRESS}template/").streaming_content)

    assert b"consentAdUserData,consentAdPersonalization,eventSource\r\n" in file
    assert f'href="{ADDRESS}template/"' in operator.get(ADDRESS).text
    assert (
        upload(operator, site, file)
        .context["summary"]
        .startswith("Would store 2 of 2 lines; 0 duplicates, 0 rejected.")
    )
    assert make_person("ali", role="viewer").get(f"{ADDRESS}template/").status_code == 403


def test_a_rejected_value_is_shown_shortened(make_person, site) -> None:
    long = "9" * 80 + "x"

    answer = upload(make_person(sites={site: "operator"}), site, f"{HEADER}Satış,Cj0,{TIME},{long},TRY\nSatış,b\n")

    shown = [(each.line, each.field, each.value) for each in answer.context["rejected"]["fields"]]
    assert shown == [(2, "conversionValue", "9" * 59 + "…"), (3, "", "Satış,b")]
    assert "9" * 59 + "…" in answer.text
    assert long not in str(answer.context["rejected"]["fields"])


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_rejected_lines_are_corrected_and_imported_again(operator, site, delimiter: str) -> None:
    good, bad = f"Satış,first,{TIME},1,TRY\n", f"=Satış,second,{TIME},many,TRY\nSatış,short\n"
    checked = upload(operator, site, (HEADER + good + bad).replace(",", delimiter))

    file = lines_of(operator, checked.context["rejected"])
    again = upload(operator, site, file)
    corrected = upload(operator, site, file.replace("many", "2"))

    header, second, unreadable = (
        csv.DictReader(StringIO(file), delimiter=delimiter),
        *csv.DictReader(StringIO(file), delimiter=delimiter),
    )
    assert header.fieldnames == [*without_identifiers(FIELDS), "reason"]
    assert second["reason"] == "line 3: conversionValue: Expected a number."
    assert (second["conversionName"], second["gclid"]) == ("'=Satış", "second"), "safe to open in a spreadsheet"
    assert unreadable["conversionName"] == delimiter.join(["Satış", "short"])
    assert unreadable["reason"] == "line 4: 2 cells, but the header has 5."
    assert again.context["summary"].startswith("Would store 0 of 2 lines; 0 duplicates, 2 rejected.")
    assert corrected.context["summary"].startswith("Would store 1 of 2 lines; 0 duplicates, 1 rejected.")
    confirm(operator)
    assert Conversion.objects.get().action == "=Satış", "as it was before the export made it safe"


def test_the_file_of_rejected_lines_has_a_limit_that_is_stated(operator, site, monkeypatch) -> None:
    for module in (import_jobs, import_run):
        monkeypatch.setattr(module, "MOST_LINES_KEPT", 3)

    answer = upload(operator, site, HEADER + f"Satış,,{TIME},1,TRY\n" * 5)

    assert "It has the first 3 lines." in answer.text
    assert len(lines_of(operator, answer.context["rejected"]).splitlines()) == 4


def test_duplicates_that_differ_are_shown_with_what_is_stored_and_offered_as_a_file(operator, site) -> None:
    file = f"{HEADER}Satış,first,{TIME},1,TRY\nSatış,second,{TIME},2,TRY\n"
    upload(operator, site, file)
    confirm(operator)

    answer = upload(operator, site, file.replace(",1,TRY", ",7,TRY"))

    assert "1 duplicate differs from what is stored." in answer.text
    assert "give a second conversion of the same click a sourceKey" in answer.text
    (shown,) = answer.context["differing"]["fields"]
    assert (shown.line, shown.field, shown.value) == (2, "conversionValue", "7")
    offered = lines_of(operator, answer.context["differing"])
    (line,) = csv.DictReader(StringIO(offered))
    assert (line["gclid"], line["reason"]) == ("first", "line 2: conversionValue: Already imported with 1.00.")
    assert upload(operator, site, offered).context["summary"].startswith("Would store 0 of 1 lines; 1 duplicates")
    assert answer.context["rejected"] is None


@pytest.mark.parametrize("shown", ["other", "", None])
def test_an_import_is_for_the_site_that_its_page_shows(make_person, make_site, shown: str | None) -> None:
    checked, other = make_site(name="Client 04"), make_site(name="Client 05")
    operator = make_person(sites={checked: "operator", other: "operator"})
    page = upload(operator, checked, GOOD)
    form = {} if shown is None else {"site": str(other.pk) if shown else ""}

    answer = operator.post(f"{PAGES}{ImportJob.objects.get().pk}/start/", form, follow=True)

    assert "Client 04: Would store" in page.text
    assert "Import 2 lines into Client 04" in page.text
    assert "Nothing was imported: the file was checked for Client 04." in answer.text
    assert not Conversion.objects.exists()
    confirm(operator)
    assert set(Conversion.objects.values_list("site", flat=True)) == {checked.pk}


def test_a_file_of_several_sites_says_so_before_it_is_imported(make_person, make_site) -> None:
    site = make_site()
    operator = make_person(sites={site: "operator", make_site(): "operator"})
    header, *lines = GOOD.splitlines()
    content = "\n".join([f"siteId,{header}", *(f"{site.public_id},{line}" for line in lines)])

    page = operator.post(ADDRESS, {"site": "", "file": SimpleUploadedFile("a.csv", content.encode())})

    assert "Import 2 lines into several sites" in page.text
    assert re.search(r'<input type="hidden"\s+name="site"\s+value="">', page.text)
