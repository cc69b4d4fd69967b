"""Conversions that wait for Google's verdict, as people and API callers see them."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from kilit.api.webhooks import webhook_kinds
from kilit.lock.models import Event
from ociqueue.models import Conversion, Receipt, Site
from ociqueue.models.sending import PerRowValues
from ociqueue.models.statements import confirm
from ociqueue.states import ConversionStatus, Disposition, SyncMethod
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.settle import note_warnings
from tests.support.api import Api
from tests.support.uploads import CONVERSIONS, html, received, row_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(make_site) -> Site:
    return make_site(name="Marmara", sync_method=SyncMethod.DATA_MANAGER)


def confirmed(client: Client, action: str, row: Conversion) -> str:
    """Return the page that asks before an action on one row."""
    return html(client, f"{CONVERSIONS}{row.pk}/{action}/")


# Totals, lists and pages


def test_rows_that_wait_for_the_verdict_are_a_state_of_their_own(operator, site) -> None:
    _batch, rows = received(site, count=2)

    stats = Api(client=operator).get("oci/queue-stats", siteId=site.public_id).json()
    listed = html(operator, f"{CONVERSIONS}?status=UPLOADED")

    assert (stats["totals"]["UPLOADED"], stats["totals"]["COMPLETED"], stats["stuckProcessing"]) == (2, 0, 0)
    assert all(row_page(row) in listed for row in rows)
    assert 'title="UPLOADED">Waiting for Google<' in listed
    assert "outcome unknown" not in listed


def test_a_rows_page_says_when_google_is_asked_and_leads_to_the_upload(operator, site) -> None:
    batch, (row,) = received(site)

    answer = operator.get(row_page(row))
    first, second, *_rest = answer.context["blockers"]

    assert "Waiting for Google" in answer.context["state"]
    assert re.search(r"has had it since .+ Its verdict is asked for at .+ \(in (29|30)\sminutes\)", first.sentence)
    assert first.href == f"/admin/ociqueue/uploadbatch/{batch.pk}/change/"
    assert "If there is none after 72 hours, it is sent again." in second.sentence


def test_a_rows_page_says_how_often_google_was_asked(operator, site) -> None:
    _batch, (row,) = received(site)
    Receipt.objects.update(checks=3, next_check_at=timezone.now() - timedelta(minutes=1))

    blockers = operator.get(row_page(row)).context["blockers"]

    assert "We asked for its verdict 3 times" in blockers[0].sentence
    assert any("The scheduled task oci_verdicts is overdue." in blocker.sentence for blocker in blockers)


# Operators' actions


def test_retry_is_not_offered_and_reset_and_mark_failed_say_that_google_has_it(operator, site) -> None:
    _batch, (row,) = received(site)

    offers = {str(offer.title) for offer in operator.get(row_page(row)).context["offers"]}

    assert offers == {"Reset to queued", "Mark failed", "Change value", "Retract"}
    assert "Waiting for Google: 1. Google has them and has not given its verdict." in confirmed(operator, "reset", row)
    assert "this takes nothing back at Google" in confirmed(operator, "mark-failed", row)


def test_everything_that_matches_is_confirmed_with_the_number_that_google_has(operator, site, make_conversion) -> None:
    received(site, count=3)
    make_conversion(site)

    page = html(operator, f"{CONVERSIONS}all/mark-failed/?site={site.pk}")

    assert "Mark failed: 4 match (Waiting: 1, Waiting for Google: 3)." in page
    assert "Waiting for Google: 3. Google has them and may count them all the same" in page


def test_rows_that_google_does_not_have_are_confirmed_without_a_word_of_it(operator, site, make_conversion) -> None:
    assert "Google has them" not in confirmed(operator, "mark-failed", make_conversion(site))


def test_the_api_counts_the_rows_that_google_has(operator, site, make_conversion) -> None:
    _batch, rows = received(site, count=2)
    waiting = make_conversion(site)
    asked = {"siteId": site.public_id, "action": "MARK_FAILED", "ids": [str(r) for r in (*rows, waiting)]}

    answer = Api(client=operator).post("oci/queue-actions", asked).json()

    assert answer == {"ok": True, "affected": 3, "outcomeUnknown": 2, "skipped": []}


# The story


def settle_verdict(row: Conversion, verb: str) -> None:
    error = {
        "last_error": "Google does not know the click.",
        "provider_error_code": "CLICK_NOT_FOUND",
        "provider_error_category": "VALIDATION",
        "provider_request_id": "request-1",
        "outcome_unknown": False,
    }
    if verb == "confirm":
        confirm(Conversion).run([row.pk], batch=row.open_batch_id)
    elif verb == "reject":
        Conversion.objects.settle(verb, PerRowValues({row.pk: error}))
    else:
        Conversion.objects.put_off(PerRowValues({row.pk: error}), verb=verb)


@pytest.mark.parametrize(
    ("verb", "sentence"),
    [
        ("confirm", "Confirmed: Google's verdict"),
        ("reject", "Rejected: Google's verdict"),
        ("lose", "because Google's verdict cannot be known any more"),
        ("defer", "Scheduled for another attempt"),
    ],
)
def test_the_timeline_tells_the_receipt_and_the_verdict(operator, site, verb: str, sentence: str) -> None:
    _batch, (row,) = received(site)
    settle_verdict(row, verb)

    steps = [step.sentence for step in operator.get(row_page(row)).context["timeline"]]

    assert sentence in steps[0]
    assert "Google has it, and gives its verdict later" in steps[1]


def test_the_timeline_quotes_what_google_ignored(operator, site) -> None:
    batch, (row,) = received(site)
    warned = RowResult(Disposition.RECEIVED, warnings=("The user agent was ignored.",))
    note_warnings(batch.pk, [(warned, [row])], among=Conversion.objects.all())

    shown = html(operator, row_page(row))

    assert "Google has it, but ignored a part of it" in shown
    assert "The user agent was ignored." in shown


def test_the_timeline_quotes_a_late_answer(operator, site) -> None:
    _batch, (row,) = received(site)
    Event.objects.record_each(Conversion.objects.filter(pk=row.pk), "LATE_ANSWER", details={"answer": "FATAL"})

    shown = html(operator, row_page(row))

    assert "Google answered late; nothing was changed" in shown
    assert "It rejects the conversion." in shown


# Webhooks


@pytest.mark.parametrize(
    ("verb", "kind", "status"),
    [
        ("", "conversion.uploaded", ConversionStatus.UPLOADED),
        ("confirm", "conversion.completed", ConversionStatus.COMPLETED),
        ("reject", "conversion.failed", ConversionStatus.FAILED),
    ],
)
def test_webhooks_report_the_receipt_and_the_verdict(site, verb: str, kind: str, status: str) -> None:
    _batch, (row,) = received(site)
    if verb:
        settle_verdict(row, verb)

    described = webhook_kinds[kind]
    events = Event.objects.filter(queue="conversion", event_type__in=described.event_types)
    (found,) = described.describe(list(events)).values()

    assert (found.data["id"], found.data["status"]) == (str(row), status)
