"""Adjustments in the console: list, page, filters, actions, blockers, export, and the first screen."""

import csv
from datetime import timedelta
from io import StringIO

import pytest
from django.db.models.functions import Now

from kilit.problems.registry import find_problems
from ociqueue.intake.adjustments import adjust
from ociqueue.models import Adjustment, Circuit, Conversion, Site, UploadBatch
from tests.support.adjusted import api_site, fail, make_sold, restate, retract
from tests.support.imports import import_file

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/adjustment/"


@pytest.fixture
def site() -> Site:
    return api_site()


@pytest.fixture
def sold(site: Site) -> Conversion:
    return make_sold(site, source_key="order-1")


def address(row: Adjustment, page: str = "change") -> str:
    return f"{LIST}{row.pk}/{page}/"


def listed(client, **filters: str) -> set[Adjustment]:
    answer = client.get(LIST, filters)
    assert answer.status_code == 200
    return set(answer.context["cl"].result_list)


def blockers(client, row: Adjustment) -> list[str]:
    return [blocker.sentence for blocker in client.get(address(row)).context["blockers"]]


def test_the_list_is_filtered_and_searched(operator, site, sold, make_person, make_site) -> None:
    value, gone = restate(sold), retract(make_sold(site, source_key="order-2"))
    failed = fail(restate(make_sold(site, source_key="other")), "SOME_CODE")
    stranger = make_person("sami", sites={make_site(name="other"): "operator"})

    assert listed(operator) == {value, gone, failed}
    assert listed(operator, kind="RETRACTION") == {gone}
    assert listed(operator, status="FAILED") == listed(operator, code="SOME_CODE") == {failed}
    assert listed(operator, group=failed.error_group) == {failed}
    for text in ("order-1", "ORDER-1", sold.order_id[:12], str(sold), str(value), str(value.pk)):
        assert listed(operator, q=text) == {value}, text
    assert listed(operator, q="order-") == {value, gone}
    assert listed(stranger) == listed(stranger, q="order-1") == set()
    assert stranger.get(address(value)).status_code == 302
    assert f'href="{LIST}"' in operator.get("/admin/ociqueue/conversion/").text, "a tab"


def test_a_callers_own_key_is_found(operator, site, sold) -> None:
    adjust(site, [{"id": str(sold), "kind": "RETRACTION", "sourceKey": "refund-1"}])

    assert listed(operator, q="refund-1") == {Adjustment.objects.get()}


def test_ctrl_k_finds_an_adjustment_by_its_id(operator, sold) -> None:
    row = restate(sold)

    assert address(row) in operator.get("/admin/search/", {"s": str(row)}).text


def test_the_page_leads_to_the_conversion(operator, sold) -> None:
    page = operator.get(address(restate(sold)))

    assert page.context["name"] == "Restatement of order-1"
    assert f"/admin/ociqueue/conversion/{sold.pk}/change/" in page.text


def test_what_is_blocking_it(admin_client, site, sold, make_conversion) -> None:
    waits = make_conversion(site)
    early, newer = restate(waits), restate(sold)
    assert "State of its conversion: Waiting." in blockers(admin_client, early)[0]

    first = Adjustment.objects.filter(pk=newer.pk)
    first.move("claim", claimed_at=Now())
    second = restate(sold, 70)
    assert blockers(admin_client, second)[0].startswith("An older adjustment of the conversion is being sent.")
    first.move("ack")

    Circuit.objects.create(site=site).move("trip", code="X", reason="closed", opened_at=Now(), next_probe_at=Now())
    Site.objects.filter(pk=site.pk).update(is_paused=True, pause_reason="stock count")
    found = " ".join(blockers(admin_client, second))
    assert "The site is paused: stock count" in found
    assert "circuit is open" in found
    Site.objects.filter(pk=site.pk).update(sync_method="script")
    assert "cannot send adjustments" in " ".join(blockers(admin_client, second))


def test_expected_failures_are_not_something_to_fix(operator, admin_user, site, sold) -> None:
    overtaken, newest = restate(sold, 90), restate(sold, 80)
    overtaken.refresh_from_db()
    page = operator.get(address(overtaken))
    groups = operator.get(f"{LIST}groups/")

    assert [blocker.sentence for blocker in page.context["blockers"]] == ["A newer adjustment takes its place."]
    assert str(newest.pk) in page.context["blockers"][0].href
    assert (page.context["primary"], page.context["offers"]) == (None, [])
    assert [row.entry.is_expected for row in groups.context["groups"]] == [True]
    assert not [problem for problem in find_problems(admin_user) if problem.part == "adjustment"]


def test_failures_are_a_problem_with_a_retry_of_the_group(operator, sold) -> None:
    failed = fail(restate(sold), "SOME_CODE")
    user = operator.get("/admin/").wsgi_request.user

    (problem,) = [problem for problem in find_problems(user) if problem.part == "adjustment"]
    asked = operator.get(problem.action.link)

    assert (problem.title, problem.count) == ("1 adjustment failed", 1)
    assert asked.status_code == 200
    assert "1 adjustment failed" in operator.get("/admin/").text
    assert failed.error_group in problem.action.link


def test_stuck_adjustments_are_a_problem(admin_user, sold) -> None:
    rows = Adjustment.objects.filter(pk=restate(sold).pk)
    rows.move("claim", claimed_at=Now())
    rows.update(claimed_at=Now() - timedelta(hours=1))

    assert "1 adjustment is stuck" in [problem.title for problem in find_problems(admin_user)]


def test_rows_are_retried_reset_and_marked_failed(operator, sold) -> None:
    row = fail(restate(sold))

    def act(verb: str, reason: str) -> tuple[str, str]:
        operator.post(f"{LIST}act/{verb}/", {"ids": str(row.pk), "reason": reason})
        row.refresh_from_db()
        return row.status, row.provider_error_code

    assert act("retry_selected", "") == ("QUEUED", "INVALID_VALUE")
    assert act("mark_failed", "enough") == ("FAILED", "MANUAL_FAIL")
    assert act("reset_to_queued", "again") == ("QUEUED", "MANUAL_FAIL")


def test_a_retry_can_be_undone(operator, sold) -> None:
    row = fail(restate(sold))
    form = {"ids": str(row.pk), "from_row": "1"}

    operator.post(f"{LIST}act/retry_selected/", form)
    undone = operator.post(f"{LIST}undo/retry_selected/", form, follow=True)

    row.refresh_from_db()
    assert row.status == "FAILED"
    assert "Undone. Its state: Failed." in undone.text


def test_what_was_overtaken_is_not_sent_again(operator, sold, site) -> None:
    overtaken = restate(sold, 90)
    restate(sold, 80)
    failed = fail(restate(make_sold(site, source_key="other")))

    both = {"ids": f"{overtaken.pk},{failed.pk}", "reason": "x"}
    answer = operator.post(f"{LIST}act/retry_selected/", both, follow=True)

    assert "Retried 1 of 2; not changed: 1 (Failed: overtaken by a newer adjustment)." in answer.text


def test_an_adjustment_of_a_failed_conversion_is_not_retried(operator, site, make_conversion) -> None:
    rows = Conversion.objects.filter(pk=make_conversion(site).pk)
    rows.move("claim", claimed_at=Now())
    rows.move("ack_failed", provider_error_code="X", provider_error_category="PERMANENT")
    row = restate(rows.get())

    answer = operator.post(f"{LIST}act/retry_selected/", {"ids": str(row.pk)}, follow=True)

    row.refresh_from_db()
    assert (row.status, row.provider_error_code) == ("FAILED", "ORIGINAL_NOT_UPLOADED")
    assert "(Failed: its conversion failed)" in answer.text
    assert blockers(operator, row) == ["Its conversion failed, so there is nothing to adjust."]


def test_the_file_of_failures_can_be_imported_again(operator, site, sold, make_person) -> None:
    fail(restate(sold), message="call +905551112233")
    viewer = make_person("vera", role="viewer", sites={site: "viewer"})

    def read(client) -> bytes:
        return b"".join(client.get(f"{LIST}dead-letters/").streaming_content)

    file = read(operator)
    line = next(csv.DictReader(StringIO(file.decode("utf-8-sig"))))
    tally = import_file(site, file.replace(b"80.00", b"75.00"))

    assert (line["id"], line["kind"], line["value"]) == (str(sold), "RESTATEMENT", "80.00")
    assert (tally.created, tally.rejected_lines) == (1, 0)
    assert Adjustment.objects.newest().get().value == 75
    assert b"+905551112233" in file
    assert b"+905551112233" not in read(viewer)


def test_an_upload_shows_its_adjustments(admin_client, site, sold) -> None:
    row = restate(sold)
    batch = UploadBatch.objects.create(site=site, size=1, queue="adjustment", row_ids=[row.pk])

    page = admin_client.get(f"/admin/ociqueue/uploadbatch/{batch.pk}/change/")

    assert address(row) in page.text
    assert '<th scope="col">Adjustment</th>' in page.text
    assert ">adjustments</span>" in admin_client.get("/admin/ociqueue/uploadbatch/").text
