"""Large files: checked as a whole, then stored in batches by workers, each line once."""

import csv
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from kilit.lock.models import Activity, Event
from ociqueue.files import import_run
from ociqueue.files.import_run import tidy
from ociqueue.models import Conversion, ImportChunk, ImportJob, ImportKey, ImportLine
from tests.support.fixtures.imports import operator, small_steps
from tests.support.imports import (
    ADDRESS,
    HEADER,
    PAGES,
    TIME,
    confirm,
    good_lines,
    imported,
    rejected_lines,
    upload,
    uploaded,
    worked,
)

pytestmark = pytest.mark.django_db


__all__ = ["operator", "small_steps"]


def test_a_large_file_is_checked_confirmed_and_stored(operator, site) -> None:
    file = HEADER + good_lines(7) + f"Satış,,{TIME},3,TRY\n" + good_lines(1)
    job = uploaded(operator, site, file)
    assert ImportChunk.objects.count() > 5

    worked(job)
    assert (job.status, job.line_count, Conversion.objects.count()) == ("READY", 9, 0)
    page = operator.get(f"{PAGES}{job.pk}/change/").text
    assert "Would store 7 of 9 lines; 1 duplicates, 1 rejected." in page
    assert "Import 7 lines" in page
    confirm(operator, job)
    worked(job)

    assert (job.status, job.percent) == ("DONE", 100)
    assert "Stored 7 of 9 lines; 1 duplicates, 1 rejected." in operator.get(f"{PAGES}{job.pk}/change/").text
    assert Conversion.objects.count() == 7
    assert Event.objects.of(Conversion.objects.first()).get().actor == "operator:ayse"
    assert Activity.objects.get(kind="import").rows == 7
    assert not ImportChunk.objects.exists()
    assert not ImportKey.objects.exists()


def test_a_file_that_waits_is_encrypted_with_keys_that_rotate(operator, site, settings) -> None:
    settings.CREDENTIAL_KEYS = ["old"]
    job = uploaded(operator, site, HEADER + good_lines(7))
    assert not any(b"click-" in bytes(chunk.content) for chunk in ImportChunk.objects.all())
    settings.CREDENTIAL_KEYS = ["new", "old"]
    call_command("reencrypt_secrets")
    settings.CREDENTIAL_KEYS = ["new"]

    worked(job)
    assert job.status == "READY"
    settings.CREDENTIAL_KEYS = ["lost"]
    confirm(operator, job)
    worked(job)

    assert (job.status, job.error) == ("FAILED", "The stored file can no longer be decrypted. Choose it again.")


def test_the_trials_sequence_line_breaks_turkish_excel_and_refused_lines(operator, site) -> None:
    """A quoted line break, cp1254 with a decimal comma, and refused lines in the middle of many good ones."""
    header = "conversionName;gclid;conversionTime;conversionValue;conversionCurrency;sourceKey\r\n"
    lines = [f"Satış;click-{number};{TIME};1.250,50;TRY;\r\n" for number in range(40)]
    lines[10] = f"Satış;click-10;{TIME};çok;TRY;\r\n"
    lines[20] = f'Satış;click-20;{TIME};12,5;TRY;"A-7\r\nikinci satır"\r\n'
    lines[30] = "yarım;satır\r\n"

    job = imported(operator, site, (header + "".join(lines)).encode("cp1254"))

    assert (job.status, job.encoding, job.counts["created"], job.counts["rejected_lines"]) == ("DONE", "cp1254", 37, 3)
    assert set(Conversion.objects.values_list("value", flat=True)) == {1250.5}
    rejected = list(csv.DictReader(StringIO(rejected_lines(operator, job)), delimiter=";"))
    assert [line["reason"].partition(":")[0] for line in rejected] == ["line 12", "line 22", "line 33"]
    assert rejected[1]["sourceKey"] == "A-7\nikinci satır"


@pytest.mark.parametrize(
    ("late", "sentence"),
    [
        (f'Satış,late,{TIME},"1,50",TRY\n'.encode(), "has a decimal comma and line"),
        (f"Satış,late,{TIME},1.50,TRY\n".encode("utf-16"), "The encoding of the file is not certain"),
    ],
    ids=["amounts", "encoding"],
)
def test_nothing_is_stored_of_a_file_that_is_not_certain_at_its_end(operator, site, late, sentence) -> None:
    answer = upload(operator, site, (HEADER + good_lines(20)).encode() + late)
    import_run.ENGINE.work_due()

    refused = ImportJob.objects.first()
    assert sentence in (refused.error if refused else answer.context["faults"][0])
    assert refused is None or (refused.status, ImportChunk.objects.count()) == ("REFUSED", 0)
    assert not Conversion.objects.exists()


def test_a_click_with_too_many_lines_is_rejected(operator, site, monkeypatch) -> None:
    for module in ("ociqueue.files.keys", "ociqueue.files.conversions", "ociqueue.models.import_job"):
        monkeypatch.setattr(f"{module}.MOST_LINES", 3)
    times = [f"{TIME[:17]}{second:02}+00:00" for second in range(6)]

    job = imported(operator, site, HEADER + "".join(f"Satış,same,{time},1,TRY\n" for time in times))

    assert (job.counts["created"], job.counts["rejected_lines"]) == (4, 2)
    assert "More than 3 lines have this click id" in rejected_lines(operator, job)


def test_imports_are_seen_by_the_site_and_acted_on_by_its_operators(operator, site, make_person, make_site) -> None:
    job = worked(uploaded(operator, site, HEADER + good_lines(2) + "Satış,secret\n"))
    viewer = make_person("ali", role="viewer", sites={site: "viewer"})
    stranger = make_person("veli", sites={make_site(): "operator"})

    seen = viewer.get(f"{PAGES}{job.pk}/change/").text
    assert "Would store 2 of 3 lines" in seen
    assert "secret" not in seen
    assert [viewer.post(f"{PAGES}{job.pk}/{verb}/").status_code for verb in ("start", "cancel")] == [403, 403]
    assert viewer.get(f"{PAGES}{job.pk}/lines/").status_code == 403
    for page in ("change", "progress", "lines"):
        assert stranger.get(f"{PAGES}{job.pk}/{page}/").status_code in (302, 404)
    assert operator.get(f"{PAGES}{job.pk}/start/").status_code == 302, "a page opened again after a login"
    assert "satışlar.csv" in operator.get(PAGES).text
    assert "satışlar.csv" not in stranger.get(PAGES).text


def test_files_of_adjustments_and_corrections_are_large_too(operator, site, make_conversion) -> None:
    sold = [make_conversion(site, order_id=f"o-{number}") for number in range(4)]
    adjusted = "orderId,kind\n" + "".join(f"{row.order_id},RETRACTION\n" for row in [*sold, sold[0]])
    corrected = "id,conversionValue\n" + "".join(f"{row},9.00\n" for row in [sold[1], sold[2], sold[3], sold[1]])

    fixed = imported(operator, site, corrected)
    job = imported(operator, site, adjusted)

    assert (fixed.kind, fixed.counts["created"], fixed.counts["rejected_lines"]) == ("corrections", 3, 1)
    assert (job.kind, job.counts["created"], job.counts["rejected_lines"]) == ("adjustments", 3, 2)
    assert "Several lines adjust this conversion" in rejected_lines(operator, job)


def test_a_file_that_no_one_confirms_is_deleted_and_rejected_lines_are_after_a_week(operator, site) -> None:
    job = worked(uploaded(operator, site, HEADER + good_lines(1) + "Satış,short\n"))
    assert tidy() == "Cancelled 0, deleted 0 lines."

    ImportJob.objects.update(updated_at="2020-01-01T00:00Z")
    assert tidy() == "Cancelled 1, deleted 0 lines."
    assert not ImportChunk.objects.exists()
    ImportJob.objects.update(finished_at="2020-01-01T00:00Z")
    assert tidy() == "Cancelled 0, deleted 1 lines."
    job.refresh_from_db()
    assert job.status == "CANCELLED"


def test_a_page_that_htmx_asked_for_goes_to_the_import(operator, site) -> None:
    file = SimpleUploadedFile("a.csv", (HEADER + good_lines(1)).encode())
    answer = operator.post(ADDRESS, {"site": site.pk, "file": file}, headers={"HX-Request": "true"})

    assert answer.headers["HX-Redirect"] == f"{PAGES}{ImportJob.objects.get().pk}/change/"


def test_a_body_beyond_the_limit_is_413_before_it_is_read(operator) -> None:
    answer = operator.generic("POST", ADDRESS, b"", CONTENT_LENGTH=str(202 * 1024**2))

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "TOO_LARGE")


def test_rejected_lines_about_a_person_are_erased_and_waiting_files_are_named(operator, site) -> None:
    imported(operator, site, HEADER + f"Satış,Cj0-Jane,{TIME},many,TRY\nSatış,other,{TIME},many,TRY\n")
    worked(uploaded(operator, site, HEADER + good_lines(1)))
    warned = StringIO()

    call_command("oci_forget", "--click-id", "Cj0-Jane", stdout=StringIO(), stderr=warned)

    assert {line.cells["gclid"] for line in ImportLine.objects.all()} == {"other"}
    assert "Files of 1 imports wait or are being imported, and are not searched." in warned.getvalue()
