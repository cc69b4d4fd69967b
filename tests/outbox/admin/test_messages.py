"""Messages in the console: the list, the page, what blocks one, and what operators do with them."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.lock.models import Event
from kilit.workers.models import Heartbeat
from outbox.errors import STORED_CAUSES
from outbox.models import Endpoint, OutboxMessage
from tests.support.dashboard import text_of
from tests.support.outbox import (
    make_attempt,
    make_delivered_message,
    make_endpoint,
    make_failed_message,
    make_message,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("parcel_kind")]

MESSAGES = "/admin/outbox/outboxmessage/"


@pytest.fixture
def operator(make_person, site):
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    make_endpoint(scope=str(site.pk), description="Shop")
    return make_person(role="operator", sites={site: "operator"})


def page(message: OutboxMessage) -> str:
    return f"{MESSAGES}{message.pk}/change/"


def status_of(message: OutboxMessage) -> str:
    return OutboxMessage.objects.get(pk=message.pk).status


def test_the_list_names_event_endpoint_site_and_error(operator, site) -> None:
    make_failed_message()
    make_message(next_try_at=Now() + timedelta(minutes=5))

    text = text_of(operator, MESSAGES)

    for word in ("parcel.carried", "Shop", site.name, "Failed", "HTTP_ 5XX", "next: in 4 minutes", "Waiting"):
        assert word in text, word


@pytest.mark.parametrize(
    "filters", ["status=FAILED", "code=HTTP_5XX", "kind=parcel.carried", "site={site}", "endpoint={endpoint}"]
)
def test_the_list_is_filtered(operator, site, filters: str) -> None:
    other = make_endpoint(url="https://other.example/")
    message = make_failed_message(endpoint=Endpoint.objects.first())
    make_message(endpoint=other, kind="test")
    values = {"site": site.pk, "endpoint": message.endpoint_id}

    text = operator.get(f"{MESSAGES}?{filters.format(**values)}").text

    assert page(message) in text
    assert text.count("/change/?_changelist_filters") >= 1


def test_a_message_is_found_by_its_id_and_by_its_job(operator) -> None:
    message = make_message(object_id="01990000-0000-7000-8000-000000000001")
    make_message()

    for text in (message.webhook_id, str(message.pk), str(message.object_id), "pdf_01990000000070008000000000000001"):
        found = operator.get(MESSAGES, {"q": text}).text
        assert page(message) in found, text
        assert found.count("column-state") == 1
        assert page(message) in operator.get("/admin/search/", {"s": text}).text, text


def test_the_page_shows_body_attempts_and_answers(operator) -> None:
    message = make_failed_message(body='{"type":"parcel.carried","data":{"id":"ş"}}')
    make_attempt(message, answer="<b>Oops</b>", error_message="Internal Server Error")

    text = operator.get(page(message)).text

    assert "&quot;id&quot;: &quot;ş&quot;" in text
    assert "The receiver failed to process the message." in text
    assert "0.25 s" in text
    assert "&lt;b&gt;Oops&lt;/b&gt;" in text
    assert message.webhook_id in text


def test_the_page_shows_the_sentence_of_an_error_not_how_it_is_stored(operator) -> None:
    message = make_failed_message()
    OutboxMessage.objects.update(error_message=STORED_CAUSES["HTTP_5XX"])

    text = operator.get(page(message)).text

    assert "The receiver failed to process the message." in text
    assert "MESSAGE_HTTP_5XX" not in text


def test_a_delivered_message_is_sent_again_under_its_id(operator) -> None:
    message, failed = make_delivered_message(), make_failed_message()

    operator.post(f"{MESSAGES}act/replay/", {"ids": f"{message.pk},{failed.pk}", "reason": "Lost there"})

    assert (status_of(message), status_of(failed)) == ("QUEUED", "FAILED")
    assert Event.objects.filter(object_id=message.pk).latest("id").message == "Lost there"


def test_a_message_that_waits_for_its_next_attempt_is_sent_now(operator) -> None:
    message = make_message()
    OutboxMessage.objects.held_by(*OutboxMessage.objects.claim(limit=1)).retry_later(error_code="TIMED_OUT")
    assert "Send now" in operator.get(page(message)).text
    assert not OutboxMessage.objects.due().exists()

    operator.post(f"{MESSAGES}act/send_now/", {"ids": str(message.pk)})

    assert OutboxMessage.objects.due().get().attempt_count == 1, "the attempt is not forgiven"
    assert "Sent without waiting, for ayse" in text_of(operator, page(message))


def test_a_waiting_message_is_marked_failed(operator) -> None:
    message = make_message()

    operator.post(f"{MESSAGES}act/mark_failed/", {"ids": str(message.pk), "reason": "Not needed"})

    assert status_of(message) == "FAILED"
    assert "An operator marked it failed." in text_of(operator, page(message))


def claim_and_lapse() -> None:
    OutboxMessage.objects.claim(limit=1)
    OutboxMessage.objects.update(lease_until=Now() - timedelta(minutes=3))


BLOCKERS: dict[str, Callable[[], object]] = {
    "Nothing: it is due": lambda: None,
    "Attempt 1 is made at": lambda: OutboxMessage.objects.update(next_try_at=Now() + timedelta(hours=2)),
    "The endpoint is switched off: it failed for three days.": lambda: Endpoint.objects.all().switch_off("FAILING"),
    "The receiver asked to wait until": lambda: Endpoint.objects.update(wait_until=Now() + timedelta(minutes=30)),
    "the scheduled task outbox_recover takes it back": claim_and_lapse,
}


@pytest.mark.parametrize("sentence", BLOCKERS)
def test_a_message_says_what_it_waits_for(operator, sentence: str) -> None:
    message = make_message()
    BLOCKERS[sentence]()

    text = text_of(operator, page(message))

    assert sentence in text
    assert ("if the endpoint stays off" in text) == ("switched off" in sentence)
