"""The three actions of an operator in the console."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.lock.models import Event
from ociqueue.admin import ConversionAdmin
from ociqueue.models import Conversion, Site, UploadBatch
from ociqueue.states import CONVERSIONS, Category, ConversionStatus
from tests.support.bulk_actions import said

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
LABELS = {
    "retry": "Retry — only: Failed, Waiting to retry",
    "reset": "Reset to queued — only: Waiting to retry, Being sent, Waiting for Google, Failed",
    "mark_failed": "Mark failed — only: Waiting, Waiting to retry, Being sent, Waiting for Google",
}


@pytest.fixture
def make_in_state(make_conversion) -> Callable[..., Conversion]:
    """Make a row and bring it into a state."""

    def make(site: Site, status: str) -> Conversion:
        row = make_conversion(site)
        rows = Conversion.objects.filter(pk=row.pk)
        if status != "QUEUED":
            rows.claim(limit=1)
        if status == "RETRY":
            rows.move("recover", claimed_at=None)
        if status == "UPLOADED":
            rows.move("receive", open_batch=UploadBatch.objects.create(site=site, size=1, sent_at=Now()))
        if status == "COMPLETED":
            rows.move("ack")
        if status == "FAILED":
            rows.ack_failed(code="INVALID_VALUE", category="VALIDATION", message="bad")
        return rows.get()

    return make


def offers(answer: Any) -> list[Any]:
    return [offer for offer in (answer.context["primary"], *answer.context["offers"]) if offer]


def states(*rows: Conversion) -> list[str]:
    return [Conversion.objects.get(pk=row.pk).status for row in rows]


def select(client: Client, action: str, *rows: Any, path: str = LIST) -> Any:
    """Choose an action in the list, as the page's form does."""
    return client.post(path, {"action": action, "_selected_action": [str(getattr(row, "pk", row)) for row in rows]})


def confirm(client: Client, verb: str, *rows: Any, reason: str = "fixed", **fields: Any) -> Any:
    """Send the confirmation, as the page between does."""
    ids = ",".join(str(getattr(row, "pk", row)) for row in rows)
    return client.post(f"{LIST}act/{verb}/", {"ids": ids, "reason": reason, **fields}, follow=True)


def test_an_action_first_says_what_it_will_do(make_person, site, make_in_state) -> None:
    rows = [make_in_state(site, status) for status in ("FAILED", "FAILED", "RETRY", "COMPLETED", "QUEUED")]

    answer = select(make_person(sites={site: "operator"}), "retry", *rows)

    assert answer.context["title"] == "Retry: 3 conversions?"
    assert answer.context["sentences"] == [
        "Retry: 3 of 5 selected.",
        "They are queued again with all attempts; the error is kept.",
        "Will not change: 1 (Waiting).",
        "Will not change: 1 (Sent).",
    ]
    assert states(*rows) == ["FAILED", "FAILED", "RETRY", "COMPLETED", "QUEUED"]


def test_retry_keeps_the_error_and_reports(make_person, site, make_in_state) -> None:
    failed, retry, done, other = (make_in_state(site, s) for s in ("FAILED", "RETRY", "COMPLETED", "COMPLETED"))

    answer = confirm(make_person(sites={site: "operator"}), "retry_selected", failed, retry, done, other)

    assert said(answer) == ["Retried 2 of 4; not changed: 2 (Sent)."]
    assert states(failed, retry, done) == ["QUEUED", "QUEUED", "COMPLETED"]
    failed.refresh_from_db()
    assert (failed.provider_error_code, failed.attempts_forgiven) == ("INVALID_VALUE", 1)
    event = Event.objects.of(failed).last()
    assert (event.actor, event.message) == ("operator:ayse", "fixed")


@pytest.mark.parametrize(("clear", "code"), [({}, "INVALID_VALUE"), ({"clear_errors": "on"}, "")])
def test_reset_clears_errors_only_when_reported(make_person, site, make_in_state, clear, code) -> None:
    rows = [make_in_state(site, status) for status in ConversionStatus.values]

    answer = confirm(make_person(sites={site: "operator"}), "reset_to_queued", *rows, **clear)

    assert said(answer) == ["Reset 4 of 6; not changed: 1 (Sent); not changed: 1 (Waiting)."]
    assert sorted(states(*rows)) == ["COMPLETED", *["QUEUED"] * 5]
    assert Conversion.objects.get(pk=rows[ConversionStatus.values.index("FAILED")].pk).provider_error_code == code


def test_mark_failed_takes_a_reason_and_has_defaults(operator, site, make_in_state) -> None:
    queued, processing, failed = (make_in_state(site, status) for status in ("QUEUED", "PROCESSING", "FAILED"))

    first = confirm(operator, "mark_failed", queued, failed, reason="a test order")
    confirm(operator, "mark_failed", processing, reason="fraud", code="FRAUD", category="VALIDATION")

    assert said(first) == ["Marked failed 1 of 2; not changed: 1 (Failed)."]
    errors = ("provider_error_code", "provider_error_category", "last_error")
    reported = dict(Conversion.objects.values_list("pk", "status"))
    assert (reported[queued.pk], reported[processing.pk]) == ("FAILED", "FAILED")
    assert Conversion.objects.values_list(*errors).get(pk=queued.pk) == ("MANUAL_FAIL", "PERMANENT", "a test order")
    assert Conversion.objects.values_list(*errors).get(pk=processing.pk) == ("FRAUD", "VALIDATION", "fraud")


def test_what_is_marked_failed_is_not_tried_again_by_a_sweep(operator, site, make_in_state) -> None:
    """The page promises it; TRANSIENT would be requeued on a site that wants it, so it is not offered."""
    Site.objects.update(requeue_transient=True)
    rows = [make_in_state(site, "QUEUED") for _ in Category]

    answers = [
        confirm(operator, "mark_failed", row, category=category) for row, category in zip(rows, Category, strict=True)
    ]

    assert "category" in answers[list(Category).index(Category.TRANSIENT)].context["form"].errors
    assert states(*rows).count("FAILED") == len(Category) - 1
    assert Conversion.objects.requeue_transient() == 0


@pytest.mark.parametrize(("verb", "number"), [("reset_to_queued", 1), ("mark_failed", 1), ("retry_selected", 2)])
def test_a_reason_is_asked_for(make_person, site, make_in_state, verb: str, number: int) -> None:
    rows = [make_in_state(site, "RETRY") for _ in range(number)]

    answer = confirm(make_person(sites={site: "operator"}), verb, *rows, reason="  ")

    assert answer.context["form"].errors == {"reason": ["This field is required."]}
    assert set(states(*rows)) == {"RETRY"}


@pytest.mark.parametrize(
    ("status", "offered"),
    [
        ("QUEUED", ["Correct", "Mark failed", "Retract"]),
        ("RETRY", ["Retry", "Correct", "Reset to queued", "Mark failed", "Retract"]),
        ("PROCESSING", ["Reset to queued", "Mark failed"]),
        ("UPLOADED", ["Reset to queued", "Mark failed"]),
        ("COMPLETED", ["Correct and resend"]),
        ("FAILED", ["Correct and resend", "Retry", "Reset to queued"]),
    ],
)
def test_a_rows_buttons_are_its_legal_moves(operator, site, make_in_state, status, offered) -> None:
    row = make_in_state(site, status)

    answer = operator.get(f"{LIST}{row.pk}/change/")

    titles = [str(offer.title) for offer in offers(answer)]
    assert titles == offered
    for offer in offers(answer):
        if not offer.is_done_at_once:
            asked = operator.get(offer.href).context
            assert asked["submit"]


@pytest.mark.parametrize(
    "case",
    [
        ("retry", "retry_selected", "COMPLETED", "Retried 0 of 1; not changed: 1 (Sent)."),
        ("reset", "reset_to_queued", "QUEUED", "Reset 0 of 1; not changed: 1 (Waiting)."),
    ],
)
def test_nothing_eligible_offers_nothing_to_confirm(operator, site, make_in_state, case) -> None:
    action, verb, status, reply = case
    row = make_in_state(site, status)

    asked = select(operator, action, row)
    answer = confirm(operator, verb, row)

    assert asked.context["submit"] == ""
    label = LABELS[action].partition(" —")[0]
    assert asked.context["sentences"] == [
        f"{label}: 0 of 1 selected.",
        f"Will not change: 1 ({CONVERSIONS.labels[status]}).",
    ]
    assert said(answer) == [reply]
    assert not Event.objects.of(row).filter(message="fixed").exists()


def test_acting_on_a_row_leads_back_to_it_and_on_the_list_back_to_its_filters(operator, site, make_in_state) -> None:
    row = make_in_state(site, "FAILED")

    from_row = confirm(operator, "retry_selected", row, from_row="1")
    from_list = confirm(operator, "reset_to_queued", row, filters="status=QUEUED")

    assert from_row.redirect_chain == [(f"{LIST}{row.pk}/change/", 302)]
    assert from_list.redirect_chain == [(f"{LIST}?status=QUEUED", 302)]
    chosen = select(operator, "mark_failed", row, path=f"{LIST}?status=QUEUED")
    assert chosen.context["kept"]["filters"] == "status=QUEUED"


def test_a_viewer_sees_no_action_and_posts_made_by_hand_are_refused(make_person, site, make_in_state) -> None:
    row = make_in_state(site, "FAILED")
    by_role = make_person("ali", role="viewer", sites={site: "operator"})
    by_membership = make_person("veli", role="operator", sites={site: "viewer"})

    for viewer in (by_role, by_membership):
        assert "_selected_action" not in viewer.get(LIST).content.decode()
        assert offers(viewer.get(f"{LIST}{row.pk}/change/")) == []
        select(viewer, "retry", row)
        assert confirm(viewer, "retry_selected", row).status_code == 403
        assert viewer.get(f"{LIST}{row.pk}/retry/").status_code == 403
    assert states(row) == ["FAILED"]


def test_rows_of_sites_that_a_user_does_not_run_are_never_touched(make_person, make_site, make_in_state) -> None:
    mine, seen, hidden = make_site(), make_site(), make_site()
    rows = [make_in_state(site, "FAILED") for site in (mine, seen, hidden)]
    operator = make_person(sites={mine: "operator", seen: "viewer"})

    asked = select(operator, "retry", *rows[:2])
    answer = confirm(operator, "retry_selected", *rows, uuid4())

    assert asked.context["sentences"][-1] == "1 is not of a site you run and will not change."
    assert said(answer) == ["Retried 1 of 4; 3 are not of a site you run."]
    assert states(*rows) == ["QUEUED", "FAILED", "FAILED"]
    assert operator.get(f"{LIST}{rows[1].pk}/retry/").status_code == 403
    assert operator.get(f"{LIST}{rows[2].pk}/retry/").status_code == 404


def test_more_than_an_action_takes_is_refused(operator, site, make_in_state, monkeypatch) -> None:
    rows = [make_in_state(site, "FAILED") for _ in range(3)]
    monkeypatch.setattr(ConversionAdmin, "most_acted_on", 2)
    everything = {"action": "mark_failed", "_selected_action": str(rows[0].pk), "select_across": "1"}

    answer = operator.post(LIST, everything, follow=True)

    assert said(answer) == ["At most 2 rows at once."]
    assert set(states(*rows)) == {"FAILED"}


def test_nonsense_is_refused_in_words(operator) -> None:
    assert said(confirm(operator, "retry_selected", "nonsense")) == ["Select from 1 to 5,000 rows."]
    assert said(confirm(operator, "retry_selected", *(uuid4() for _ in range(5001)))) == [
        "Select from 1 to 5,000 rows."
    ]
    assert confirm(operator, "claim", uuid4()).status_code == 404
    assert operator.get(f"{LIST}nonsense/retry/").status_code == 404
    assert select(operator, "retry", "nonsense").status_code == 400


def test_labels_say_their_reach(make_person, site, make_conversion) -> None:
    make_conversion(site)

    choices = dict(make_person(sites={site: "operator"}).get(LIST).context["action_form"].fields["action"].choices)

    assert {name: label for name, label in choices.items() if name} == LABELS
