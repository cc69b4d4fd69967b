"""Retract and Change value on a conversion's page."""

import pytest
from django.db.models.functions import Now

from kilit.access.models import DeniedRequest
from kilit.lock.models import Event
from ociqueue.models import Adjustment, Conversion, Credentials, Site
from ociqueue.models.credentials import GoogleAdsAccount
from tests.support.adjusted import api_site, complete, fail, make_sold, restate, retract
from tests.support.conversions import make_failed

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
NEW_VALUE = {"value": "80", "currency": "TRY", "reason": "a chair came back"}


@pytest.fixture
def site() -> Site:
    return api_site()


@pytest.fixture
def sold(site: Site) -> Conversion:
    return make_sold(site, source_key="order-1")


def address(row: Conversion, page: str = "change") -> str:
    return f"{LIST}{row.pk}/{page}/"


def titles(client, row: Conversion) -> list[str]:
    context = client.get(address(row)).context
    return [str(offer.title) for offer in (*context["offers"], context["primary"]) if offer]


def test_the_value_is_changed_after_a_form_with_the_current_one(operator, sold) -> None:
    page = operator.get(address(sold, "change-value"))
    answer = operator.post(address(sold, "change-value"), NEW_VALUE, follow=True)

    form = page.context["form"]
    assert (form["value"].value(), form["currency"].value()) == ("100.00", "TRY")
    assert "takes the place of the current value" in page.text
    row = Adjustment.objects.get()
    assert (row.kind, row.value, row.currency, row.status) == ("RESTATEMENT", 80, "TRY", "QUEUED")
    assert answer.redirect_chain == [(address(sold), 302)]
    assert "Adjustment added by ayse" in answer.text
    assert f"/admin/ociqueue/adjustment/{row.pk}/change/" in answer.text
    assert Event.objects.get(object_id=sold.pk, event_type="ADJUSTMENT_ADDED").message == "a chair came back"


def test_a_retraction_needs_a_reason_and_is_the_last(operator, sold) -> None:
    without = operator.post(address(sold, "retract"), {"reason": ""})
    operator.post(address(sold, "retract"), {"reason": "a refund"})

    assert without.context["form"].errors == {"reason": ["This field is required."]}
    assert Adjustment.objects.get().kind == "RETRACTION"
    assert titles(operator, sold) == []
    for page in ("retract", "change-value"):
        assert "It cannot be adjusted" in operator.get(address(sold, page), follow=True).text


def test_a_double_click_is_one_adjustment(operator, sold) -> None:
    answers = [operator.post(address(sold, "change-value"), NEW_VALUE, follow=True) for _ in range(2)]

    assert Adjustment.objects.count() == 1
    assert "was added already" in answers[1].text


def test_what_another_person_added_meanwhile_is_not_overwritten_unseen(operator, sold) -> None:
    first = restate(sold, 90)

    answer = operator.post(address(sold, "change-value"), NEW_VALUE)
    seen = operator.post(address(sold, "change-value"), {**NEW_VALUE, "newest": str(first)})

    assert answer.context["form"].non_field_errors() == [
        "It was adjusted meanwhile. Look at its page, then begin again."
    ]
    assert seen.status_code == 302
    assert list(Adjustment.objects.order_by("adjusted_at").values_list("value", flat=True)) == [90, 80]


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"value": "1.234"}, "value", "TRY has 2 digits after the decimal point."),
        ({"value": "-1"}, "value", "from 0 to below"),
        ({"currency": "XX1"}, "currency", "is not an ISO 4217 currency code"),
    ],
)
def test_a_fault_is_shown_at_its_field(operator, sold, given, field, message) -> None:
    answer = operator.post(address(sold, "change-value"), NEW_VALUE | given)

    assert message in answer.context["form"].errors[field][0]
    assert not Adjustment.objects.exists()


def test_a_waiting_conversion_ends_with_its_retraction(operator, site, make_conversion) -> None:
    waits = make_conversion(site)

    page = operator.get(address(waits, "retract"))
    done = operator.post(address(waits, "retract"), {"reason": "ordered by mistake"}, follow=True)

    assert "It has not been sent. Both end here and nothing is sent." in page.text
    waits.refresh_from_db()
    assert (waits.status, waits.provider_error_code) == ("FAILED", "RETRACTED_BEFORE_UPLOAD")
    assert "none: it was retracted before it was sent" in done.text
    assert [blocker.sentence for blocker in done.context["blockers"]] == ["It was retracted, so it is not sent again."]
    assert titles(operator, waits) == [], "no Retry either"


def test_what_is_being_sent_is_adjusted_later(operator, site, make_conversion) -> None:
    row = make_conversion(site)
    Conversion.objects.filter(pk=row.pk).move("claim", claimed_at=Now())

    assert {"Retract", "Change value"} <= set(titles(operator, row))
    assert "when the conversion was sent" in operator.get(address(row, "retract")).text


def test_a_script_site_refuses_with_words(make_person, make_site) -> None:
    site = make_site()
    sold = make_sold(site)
    operator = make_person("can", sites={site: "operator"})

    assert not {"Retract", "Change value"} & set(titles(operator, sold))
    assert "script cannot send adjustments" in operator.get(address(sold, "retract"), follow=True).text


def test_a_failed_conversion_has_nothing_to_adjust(operator, make_person, make_site) -> None:
    site = make_site()
    (row,) = make_failed(site)
    Site.objects.filter(pk=site.pk).update(sync_method="api")
    client = make_person("can", sites={site: "operator"})

    assert not {"Retract", "Change value"} & set(titles(client, row))
    assert "there is nothing to adjust" in client.get(address(row, "retract"), follow=True).text


@pytest.mark.parametrize(
    ("token", "says"), [("", "the value becomes 0, the count stays"), ("t", "takes the conversion back")]
)
def test_data_manager_says_what_a_retraction_does(operator, site, sold, token, says) -> None:
    account = GoogleAdsAccount(customer_id="1234567890", conversion_action="x", developer_token=token)
    Site.objects.filter(pk=site.pk).update(sync_method="datamanager")
    Credentials.objects.filter(site=site).delete()
    Credentials.objects.store(site, account)

    assert says in operator.get(address(sold, "retract")).text


def test_the_page_shows_adjustments_and_the_value_at_google(operator, sold) -> None:
    def current() -> str:
        return operator.get(address(sold)).context["current_value"]

    assert "Adjustments" not in operator.get(address(sold)).text.split('id="job-adjustments"')[1].split("</div>")[0]
    first = restate(sold, 80)
    assert "100.00" in current()
    complete(first)
    assert "80.00" in current()
    fail(restate(sold, 60))
    assert "80.00" in current()
    complete(retract(sold))
    assert current() == "none: it was retracted"

    page = operator.get(address(sold))
    sentences = [step.sentence for step in page.context["timeline"]]
    assert any(sentence.startswith("Adjustment failed") for sentence in sentences)
    assert any(sentence.startswith("Adjustment completed") for sentence in sentences)
    assert len(page.context["adjustments"]) == 3
    assert 'kilit-badge-info" title="A retraction was accepted' in page.text


def test_viewers_and_members_of_other_sites_are_refused_and_recorded(make_person, site, sold, make_site) -> None:
    viewer = make_person("vera", role="viewer", sites={site: "viewer"})
    reader = make_person("rana", sites={site: "viewer"})
    stranger = make_person("sami", sites={make_site(name="other"): "operator"})

    for page in ("retract", "change-value", "correct"):
        answers = [client.post(address(sold, page), NEW_VALUE) for client in (viewer, reader, stranger)]
        assert [answer.status_code for answer in answers] == [403, 403, 404]

    assert {denied.actor.partition(":")[2] for denied in DeniedRequest.objects.all()} == {"vera", "rana", "sami"}
    assert titles(viewer, sold) == []
    assert not Adjustment.objects.exists()
