"""Orders from sheets by the API: one job or none, faults at their cells, and the file kept with the job."""

from unittest.mock import patch

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import HealthCheck, given, settings

from kilit.lock.models import Event
from orchestrator.models import Job, OrderFile
from orchestrator.sheets.template import template_csv
from tests.support.cutting_jobs import error
from tests.support.garbage import damaged
from tests.support.order_sheets import LIST, send, xlsx

pytestmark = pytest.mark.django_db


def test_a_sheet_becomes_a_job_with_its_file(api) -> None:
    answer = send(api)

    assert answer.status_code == 201
    job = Job.objects.get(pk=answer.json()["job"]["id"])
    assert (job.order_id, job.part_count, job.customer_phone) == ("mutfak-12", 2, "+905551234567")
    assert job.payload["parts"][0]["edge_up"] == "040"
    file = job.order_files.get()
    assert (file.name, bytes(file.content)) == ("mutfak-12.xlsx", LIST)


def test_the_same_sheet_again_is_the_same_job(api) -> None:
    first = send(api).json()["job"]

    answer = send(api)

    assert answer.status_code == 200
    assert (answer.json()["job"]["id"], answer.json()["deduplicated"]) == (first["id"], True)
    assert OrderFile.objects.count() == 1
    assert [event.event_type for event in Event.objects.of(Job.objects.get())] == ["JOB_CREATED", "JOB_DEDUP"]


def test_a_dry_run_shows_the_order_and_stores_nothing(api) -> None:
    answer = send(api, dry_run="true")

    assert answer.status_code == 200
    body = answer.json()
    assert (body["layout"], body["sheet"], body["order"]["order_id"]) == ("list", "Liste", "mutfak-12")
    assert body["order"]["parts"][1]["thickness_mm"] == "5"
    assert body["cells"]["parts.0.length_cm"] == "B2"
    assert {"field": "color", "value": "Beyaz", "origin": "cell", "cell": "B1", "note": ""} in body["sources"]
    assert not Job.objects.exists()


def test_faults_name_cells_and_nothing_is_stored(api) -> None:
    answer = send(api, xlsx(["18MM"], [None, 720, "1.205", 2], [None, "en", 560, 0]))

    assert answer.status_code == 422
    assert error(answer)["code"] == "E_VALIDATION"
    colour, *others = error(answer)["faults"]
    assert colour.startswith("color: The colour is missing. Write it above the parts, as RENK: Beyaz")
    assert others == [
        "C2 width_cm: Ambiguous: 1.205 could be 1205 or 1.205. Write 1205 or 1.2050.",
        "B3 length_cm: Not a number.",
        "D3 quantity: Expected a whole number from 1 to 9,999.",
    ]
    assert not Job.objects.exists()


def test_a_part_larger_than_the_plate_is_named_at_its_cell(api) -> None:
    content = xlsx(["18MM", "RENK: Beyaz", "210*280"], [None, 2900, 560, 2])

    for dry_run in ("true", "false"):
        (fault,) = error(send(api, content, dry_run=dry_run))["faults"]
        assert fault.startswith("B2 part: Part 2, 2900 × 560 mm, is larger than the plate")
    assert not Job.objects.exists()


def test_a_file_that_cannot_be_stored_leaves_no_job(api) -> None:
    with (
        patch("orchestrator.api.imports.store_order_file", side_effect=OSError("full")),
        pytest.raises(OSError, match="full"),
    ):
        send(api)

    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("content", "fields", "fault"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", {}, "file: This is an old Excel file"),
        (LIST, {"sheet": "Yok"}, "file: There is no sheet Yok"),
        (LIST, {"thickness_mm": "NaN"}, "thickness_mm: Expected a size above 0"),
        (LIST, {"dry_run": "maybe"}, "dry_run: Expected true or false"),
        (LIST, {"revision": "x"}, "revision: Expected a whole number"),
        (LIST, {"colour": "Beyaz"}, "colour: Unknown field"),
        (LIST, {"customer_phone": "12"}, "customer_phone: Not a valid phone number"),
    ],
)
def test_other_fields_are_checked_too(api, content, fields, fault) -> None:
    answer = send(api, content, **fields)

    assert answer.status_code == 422
    assert error(answer)["faults"][0].startswith(fault)


def test_the_form_needs_a_file(api) -> None:
    for fields in ({}, {"file": "text"}):
        answer = api.client.post("/jobs/import", fields, headers=api.headers)
        assert (answer.status_code, error(answer)["faults"][0][:5]) == (422, "file:")


def test_other_bodies_are_refused(api) -> None:
    assert api.post("jobs/import", {"file": "x"}).status_code == 415
    large = SimpleUploadedFile("a.csv", b"0" * (5 * 1024**2 + 100_000))
    assert api.client.post("/jobs/import", {"file": large}, headers=api.headers).status_code == 413
    broken = api.client.post("/jobs/import", b"--x", content_type="multipart/form-data", headers=api.headers)
    assert broken.status_code == 400


def test_viewers_get_the_template_but_cannot_import(make_api) -> None:
    viewer = make_api("viewer")

    assert send(viewer).status_code == 403
    excel, csv = viewer.get("jobs/import/template"), viewer.get("jobs/import/template", format="csv")
    assert (excel.status_code, excel.content[:2]) == (200, b"PK")
    assert (csv.headers["Content-Disposition"], csv.content) == (
        'attachment; filename="siparis-sablonu.csv"',
        template_csv(),
    )
    assert viewer.get("jobs/import/template", format="pdf").status_code == 400


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(content=damaged(LIST))
def test_damaged_bytes_are_answered(api, content) -> None:
    assert send(api, content, dry_run="true").status_code in (200, 422)
