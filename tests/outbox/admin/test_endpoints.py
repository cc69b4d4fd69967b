"""Endpoints in the console: adding, testing, switching, rotating, replaying, deleting."""

import re
from datetime import timedelta
from ipaddress import ip_network

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from kilit.lock.models import Activity
from kilit.problems.failures import FailedRows, group_action
from outbox.admin.endpoints import EndpointForm
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import SECRET_PREFIX
from outbox.queue import QUEUE
from outbox.replaying import Replay, ReplayResult
from tests.support.dashboard import text_of
from tests.support.outbox import make_delivered_message, make_endpoint, make_failed_message, make_message

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("parcel_kind")]

ENDPOINTS, MESSAGES = "/admin/outbox/endpoint/", "/admin/outbox/outboxmessage/"

EXPIRED = FailedRows(QUEUE, QUEUE.errors["EXPIRED"], "EXPIRED", "FAILED", filters={})


@pytest.fixture
def endpoint(site) -> Endpoint:
    return make_endpoint(scope=str(site.pk))


def page(endpoint: Endpoint, name: str = "change") -> str:
    return f"{ENDPOINTS}{endpoint.pk}/{name}/"


def form(site, **values) -> dict:
    return {"url": "https://shop.example/in?key=1", "scope": str(site.pk), "kinds": ["parcel.carried"], **values}


def secrets_in(text: str) -> set[str]:
    return set(re.findall(rf"<code>({SECRET_PREFIX}[^<]+)</code>", text))


def test_a_new_endpoint_shows_its_secret_once(operator, site) -> None:
    answer = operator.post(f"{ENDPOINTS}add/", form(site, description="Shop"), follow=True)

    endpoint = Endpoint.objects.get()
    assert (endpoint.url, endpoint.scope, endpoint.kinds) == (
        "https://shop.example/in?key=1",
        str(site.pk),
        ["parcel.carried"],
    )
    assert answer.redirect_chain == [(page(endpoint), 302)]
    assert secrets_in(answer.text) == set(endpoint.secrets(timezone.now()))
    assert not secrets_in(operator.get(page(endpoint)).text)
    assert Activity.objects.get(model="outbox.endpoint").scope == str(site.pk)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://shop.example/", "Enter an http or https URL"),
        ("https://ayse:secret@shop.example/", "may not contain a user name"),
        ("http://shop.example/", "Enter an https URL"),
        ("https://127.0.0.1/", "private network"),
        ("https://[::1]:8000/", "private network"),
        ("https:///hook", "The host or the port is not valid."),
    ],
)
def test_an_address_is_checked(operator, site, settings, url: str, why: str) -> None:
    settings.DEBUG = False
    answer = operator.post(f"{ENDPOINTS}add/", form(site, url=url))

    assert why in answer.text
    assert not Endpoint.objects.exists()


def test_plain_http_is_allowed_where_private_addresses_are(operator, site, settings) -> None:
    settings.DEBUG, settings.WEBHOOK_PRIVATE_ADDRESSES = False, [ip_network("10.0.0.0/8")]

    operator.post(f"{ENDPOINTS}add/", form(site, url="http://10.1.2.3:8000/hook"))

    assert Endpoint.objects.get().url == "http://10.1.2.3:8000/hook"


def test_an_operator_adds_endpoints_for_the_sites_they_run(operator, site, make_site, make_person) -> None:
    other = make_site(name="Other")
    offered = operator.get(f"{ENDPOINTS}add/").text
    refused = [operator.post(f"{ENDPOINTS}add/", form(site, scope=scope)) for scope in ("", str(other.pk), "x")]

    assert site.name in offered
    assert "Other" not in offered
    assert "The whole installation" not in offered
    assert {answer.status_code for answer in refused} == {200}
    assert not Endpoint.objects.exists()

    owner = make_person("owner", role="owner")
    owner.post(f"{ENDPOINTS}add/", form(site, scope=""))

    assert "The whole installation" in owner.get(f"{ENDPOINTS}add/").text
    assert Endpoint.objects.get().scope == ""


def test_the_form_names_each_kind_with_its_sentence(operator) -> None:
    text = text_of(operator, f"{ENDPOINTS}add/")

    assert "parcel.carried A parcel was taken." in text


def test_an_endpoint_of_a_site_listens_to_what_happens_at_sites(operator, site, endpoint) -> None:
    refused = operator.post(f"{ENDPOINTS}add/", form(site, kinds=["parcel.carried", "pdf.failed"])).text

    assert "These are not reported to endpoints of a site: pdf.failed." in refused
    assert "pdf.failed" not in operator.get(page(endpoint, "settings")).text
    assert Endpoint.objects.count() == 1


def test_an_edit_keeps_the_site_and_records_no_values(operator, endpoint, make_site) -> None:
    other = make_site(name="Other")

    operator.post(page(endpoint, "settings"), {"url": "https://new.example/?k=v", "scope": str(other.pk)})

    changed = Endpoint.objects.get()
    assert (changed.url, changed.scope, changed.kinds) == ("https://new.example/?k=v", endpoint.scope, [])
    entry = Activity.objects.get(model="outbox.endpoint")
    assert "Changed Address and Events" in text_of(operator, "/admin/lock/activity/")
    assert "k=v" not in f"{entry.object_name}{entry.message}"


def test_an_edit_leaves_what_others_changed_meanwhile(operator, endpoint, monkeypatch) -> None:
    check = EndpointForm.clean_url

    def check_while_it_is_switched_off(form: EndpointForm) -> str:
        Endpoint.objects.all().switch_off("FAILING")
        return check(form)

    monkeypatch.setattr(EndpointForm, "clean_url", check_while_it_is_switched_off)
    operator.post(page(endpoint, "settings"), {"url": "https://new.example/", "kinds": ["parcel.carried"]})

    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.is_on) == ("https://new.example/", False)


def test_a_rotation_says_until_when_both_secrets_sign(operator, endpoint) -> None:
    (old,) = endpoint.secrets(timezone.now())
    assert "for 24 hours" in operator.get(page(endpoint, "rotate-secret")).text

    answer = operator.post(page(endpoint, "rotate-secret"), {"after": "none"}, follow=True)

    endpoint.refresh_from_db()
    new, previous = endpoint.secrets(timezone.now())
    assert previous == old
    assert secrets_in(answer.text) == {new}
    assert "The old one signs too until" in answer.text
    assert timedelta(hours=23) < endpoint.previous_until - timezone.now() <= timedelta(hours=24)
    entry = Activity.objects.get(model="outbox.endpoint")
    assert (entry.kind, entry.message) == ("key", "Rotated the signing secret.")


def test_a_second_click_does_not_rotate_again(operator, endpoint) -> None:
    operator.post(page(endpoint, "rotate-secret"), {"after": "none"})
    endpoint.refresh_from_db()
    kept = endpoint.secrets(timezone.now())

    answer = operator.post(page(endpoint, "rotate-secret"), {"after": "none"}, follow=True)

    endpoint.refresh_from_db()
    assert endpoint.secrets(timezone.now()) == kept
    assert "the secret was rotated after you opened the page" in answer.text


def test_switching_off_and_on_needs_a_reason_and_is_recorded(operator, endpoint) -> None:
    operator.post(page(endpoint, "switch-off"), {"reason": " "})
    assert Endpoint.objects.get().is_on

    off = operator.post(page(endpoint, "switch-off"), {"reason": "Receiver moves"}, follow=True)
    endpoint.refresh_from_db()
    assert (endpoint.is_on, endpoint.off_reason, endpoint.off_by) == (False, "OPERATOR", "operator:ayse")
    assert "switched off by an operator" in off.text

    operator.post(page(endpoint, "switch-on"), {"reason": "It moved"})
    assert Endpoint.objects.get().is_on
    messages = Activity.objects.filter(model="outbox.endpoint").order_by("id").values_list("message", flat=True)
    assert list(messages) == ["Switched off: Receiver moves", "Switched on: It moved"]


@pytest.mark.parametrize("by", ["row", "group"])
def test_failed_messages_of_an_endpoint_that_is_off_are_retried_as_it_is_switched_on(operator, endpoint, by) -> None:
    message = make_failed_message(endpoint=endpoint, code="EXPIRED")
    Endpoint.objects.filter(pk=endpoint.pk).switch_off("FAILING")
    offered = {
        "row": lambda: operator.get(f"{MESSAGES}{message.pk}/change/").context["primary"].href,
        "group": lambda: group_action(EXPIRED, User.objects.get(username="ayse")).link,
    }

    address = offered[by]()
    assert "Switch on and retry" in operator.get(address).text
    operator.post(address, {"reason": "It moved"})

    assert (Endpoint.objects.get().is_on, OutboxMessage.objects.get().status) == (True, "QUEUED")


def test_a_group_of_two_endpoints_is_not_retried_by_switching_one_on(operator, endpoint) -> None:
    for receiver in (endpoint, make_endpoint(scope=endpoint.scope)):
        make_failed_message(endpoint=receiver, code="EXPIRED")
    Endpoint.objects.filter(pk=endpoint.pk).switch_off("FAILING")

    action = group_action(EXPIRED, User.objects.get(username="ayse"))

    assert str(action.label) == "Review and retry"


def test_a_test_is_a_message_whose_page_follows_it(operator, endpoint) -> None:
    answer = operator.post(page(endpoint, "send-test"), follow=True)

    message = OutboxMessage.objects.get()
    assert (message.kind, message.endpoint, message.scope) == ("test", endpoint, endpoint.scope)
    assert answer.redirect_chain == [(f"{MESSAGES}{message.pk}/change/", 302)]
    assert "data-live" in answer.text


def test_an_endpoint_that_is_off_is_not_tested_or_replayed(operator, endpoint) -> None:
    Endpoint.objects.all().switch_off("OPERATOR")

    tested = operator.post(page(endpoint, "send-test"), follow=True)
    replayed = operator.get(page(endpoint, "replay"), follow=True)

    assert "Switch the endpoint on first." in tested.text
    assert "Switch the endpoint on first." in replayed.text
    assert not OutboxMessage.objects.exists()


def test_a_time_span_is_replayed_and_recorded(operator, endpoint) -> None:
    span = {"start": "2026-11-16T10:00", "end": "2026-11-16T11:00"}
    offered = operator.get(page(endpoint, "replay")).text
    reversed_span = operator.post(page(endpoint, "replay"), {"start": span["end"], "end": span["start"]})

    answer = operator.post(page(endpoint, "replay"), span, follow=True)

    assert offered.count('type="datetime-local"') == offered.count(f'value="{timezone.localdate():%Y}') == 2
    assert "The end has to be after the beginning." in reversed_span.text
    assert "Sent again: 0 messages. New: 0" in answer.text
    assert "Replayed 2026-11-16T" in Activity.objects.get(model="outbox.endpoint").message


def test_a_long_replay_is_continued(operator, endpoint, monkeypatch) -> None:
    seen = []

    def run(_replay, *, after, seconds) -> ReplayResult:
        seen.append(after)
        return ReplayResult(replayed=2, resume_after=None if after else 700)

    monkeypatch.setattr(Replay, "run", run)
    span = {"start": "2026-11-16T10:00", "end": "2026-11-16T11:00"}

    first = operator.post(page(endpoint, "replay"), span)
    second = operator.post(page(endpoint, "replay"), {**span, "after": "700"}, follow=True)

    assert '<input type="hidden" name="after" value="700">' in first.text
    assert 'value="2026-11-16T10:00"' in first.text
    assert "There is more: replay again to continue." in first.text
    assert second.redirect_chain == [(page(endpoint), 302)]
    assert seen == [None, 700]


def test_an_endpoint_with_messages_is_kept(operator, endpoint) -> None:
    make_message(endpoint=endpoint)

    assert operator.post(page(endpoint, "delete"), {"post": "yes"}).status_code == 403
    assert page(endpoint, "delete") not in operator.get(page(endpoint)).text
    assert Endpoint.objects.exists()


def test_an_endpoint_without_messages_is_deleted(operator, endpoint) -> None:
    assert page(endpoint, "delete") in operator.get(page(endpoint)).text

    operator.post(page(endpoint, "delete"), {"post": "yes"})

    assert not Endpoint.objects.exists()
    assert Activity.objects.get(model="outbox.endpoint").verb == "deleted"


def test_the_list_shows_what_waits_and_failed(operator, endpoint) -> None:
    make_message(endpoint=endpoint)
    make_failed_message(endpoint=endpoint)
    make_failed_message(endpoint=endpoint)
    make_delivered_message(endpoint=endpoint)

    text = operator.get(ENDPOINTS).text
    failed = f'/admin/outbox/outboxmessage/?endpoint={endpoint.pk}&amp;status=FAILED"'

    assert re.search(rf"{re.escape(failed)}[^>]*>2<", text)
    assert re.search(rf'\?endpoint={endpoint.pk}"[^>]*>1<', text)
    assert "less than a minute ago" in text


def test_the_page_says_what_happens_to_a_failing_endpoint(operator, endpoint) -> None:
    make_failed_message(endpoint=endpoint)
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(days=1))

    text = text_of(operator, page(endpoint))

    assert "It has failed since" in text
    assert "The receiver failed to process the message." in text
    assert re.search(r"It is switched off at .* \(in 1 day\) unless a message is delivered before\.", text)


def test_the_query_of_the_address_is_for_those_who_may_change_it(operator, endpoint, make_person, site) -> None:
    Endpoint.objects.update(url="https://shop.example/hook?token=1")
    viewer = make_person("viewer", role="viewer", sites={site: "viewer"})

    assert "token=1" in operator.get(page(endpoint)).text.replace("<wbr>", "")
    assert "token=1" not in viewer.get(page(endpoint)).text.replace("<wbr>", "")


def test_a_command_search_finds_an_endpoint(operator, endpoint) -> None:
    Endpoint.objects.update(description="Warehouse")

    assert page(endpoint) in operator.get("/admin/search/?s=wareh").text
