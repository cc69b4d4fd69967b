"""Rejected lines are corrected in a grid on the import's page: what is right is stored, the rest stays."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kilit.csv.grid import rows_from_text, text_from_rows
from kilit.lock.models import Activity
from ociqueue.models import Conversion, ImportJob, ImportLine, Site
from tests.support.conversions import make_failed
from tests.support.imports import ADDRESS, HEADER, PAGES, TIME, good_lines, upload

pytestmark = pytest.mark.django_db

BAD = "".join(f"Satış,bad-{number},{TIME},many,TRY\n" for number in range(5))


@pytest.fixture
def operator(make_person: Any, site: Site) -> Client:
    client: Client = make_person(sites={site: "operator"})
    return client


def typed(page: Any, **changes: dict[str, str]) -> dict[str, str]:
    """Return the form of the page with other cells in some of its lines."""
    grid = page.context["grid"]
    columns = [column["name"] for column in grid["columns"]]
    rows = rows_from_text(grid["rows"], columns)
    for row in rows:
        row.update(changes.get(f"line_{row['line']}", {}))
    return {"names": grid["names"], "rows": text_from_rows(rows, columns)}


def store(client: Client, form: dict[str, str] | None = None) -> Any:
    job = ImportJob.objects.get()
    return client.post(f"{PAGES}{job.pk}/start/", {"site": str(job.site_id or ""), **(form or {})}, follow=True)


def test_good_and_corrected_lines_are_stored_with_one_button(operator, site) -> None:
    checked = upload(operator, site, HEADER + good_lines(2) + BAD)
    faults = json.loads(checked.context["grid"]["faults_json"])
    assert faults[0] == [0, "conversionValue", "Expected a number."]
    right = {f"line_{number}": {"conversionValue": "12,50"} for number in (4, 5, 6, 7)}

    page = store(operator, typed(checked, **right, line_8={"conversionValue": "1.250"}))

    assert page.context["summary"].startswith("Stored 6 of 7 lines; 0 duplicates, 1 rejected.")
    assert "4 of 5 corrected lines imported, 1 to correct." in page.text
    assert Conversion.objects.filter(value="12.50").count() == 4
    (fault,) = json.loads(page.context["grid"]["faults_json"])
    assert fault[1] == "conversionValue"
    assert fault[2].startswith("Ambiguous: 1.250")
    assert sum(Activity.objects.filter(kind="import").values_list("rows", flat=True)) == 6
    rows = operator.get(page.context["rows_address"])
    assert rows.context["cl"].result_count == 6

    make_failed(site, source_key="meanwhile")
    page = store(operator, typed(page, line_8={"conversionValue": "1250"}))

    assert page.context["summary"].startswith("Stored 7 of 7 lines; 0 duplicates, 0 rejected.")
    rows = operator.get(page.context["rows_address"])
    assert rows.context["cl"].result_count == 7, "the row that came meanwhile is not the import's"
    assert page.context["grid"] is None
    assert not ImportLine.objects.filter(is_checked=False).exists()


def test_lines_that_nobody_changed_and_lines_of_nobody_are_left_alone(operator, site) -> None:
    checked = upload(operator, site, HEADER + good_lines(1) + BAD)
    form = typed(checked)
    form["rows"] += f"999\tSatış\tforged\t{TIME}\t1\tTRY\nx\ty\n"

    page = store(operator, form)

    assert page.context["summary"].startswith("Stored 1 of 6 lines; 0 duplicates, 5 rejected.")
    assert Conversion.objects.count() == 1


def test_a_line_that_could_not_be_read_is_typed_anew(operator, site) -> None:
    checked = upload(operator, site, f"{HEADER}{good_lines(1)}Satış;half\n")
    cells = {"conversionName": "Satış", "gclid": "whole", "conversionTime": TIME, "conversionValue": "3"}

    page = store(operator, typed(checked, line_3={**cells, "conversionCurrency": "TRY"}))

    assert page.context["grid"] is None
    assert Conversion.objects.filter(gclid="whole").exists()


def test_only_who_may_import_corrects_lines(operator, make_person, site, make_site) -> None:
    checked = upload(operator, site, HEADER + good_lines(1) + BAD)
    form = typed(checked, line_3={"conversionValue": "1"})
    job = ImportJob.objects.get()

    viewer, stranger = make_person("v", role="viewer", sites=(site,)), make_person("s", sites={make_site(): "operator"})

    assert viewer.post(f"{PAGES}{job.pk}/start/", form).status_code == 403
    assert stranger.post(f"{PAGES}{job.pk}/start/", form).status_code == 404
    assert not Conversion.objects.exists()


def test_a_corrected_line_names_no_site_that_its_reader_may_not_act_on(make_person, make_site) -> None:
    own, foreign = make_site(), make_site()
    client = make_person(sites={own: "operator"})
    line = f"{own.public_id},Satış,c-{{}},{TIME},many,TRY\n".format
    lines = f"siteId,{HEADER}{line(1)}{line(2)}"
    checked = client.post(ADDRESS, {"site": "", "file": SimpleUploadedFile("a.csv", lines.encode())})
    right = {"conversionValue": "1"}
    form = typed(checked, line_2={**right, "siteId": foreign.public_id}, line_3=right)

    page = store(client, form)

    assert (Conversion.objects.get().site, Conversion.objects.get().gclid) == (own, "c-2")
    assert "There is no site with this siteId" in page.context["grid"]["faults_json"]
