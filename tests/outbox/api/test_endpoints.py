"""The API of endpoints, as a site's key, people and admins see it."""

from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from kilit.access.encryption import decrypt
from kilit.lock.models import Activity
from ociqueue.models import Site
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from tests.support.api import Api
from tests.support.dashboard import make_site
from tests.support.denied_requests import refusals
from tests.support.outbox import API, make_endpoint, make_message
from tests.support.people import make_user

pytestmark = pytest.mark.django_db
NEW = {"url": "https://shop.example/hook?token=1", "kinds": ["conversion.failed"]}


def test_a_site_s_key_makes_an_endpoint_of_the_site_and_gets_its_secret_once(site: Site, api: Api) -> None:
    answer = api("POST", "endpoints", NEW)

    assert answer.status_code == 201
    made = answer.json()
    stored = Endpoint.objects.get()
    assert (stored.scope, made["site_id"], made["url"]) == (str(site.pk), site.public_id, NEW["url"])
    assert decrypt(stored.encrypted_secret) == made["secret"]
    for path in ("endpoints", f"endpoints/{stored.pk}"):
        assert made["secret"] not in api("GET", path).text
        assert "whsec_" not in api("GET", path).text
    assert (Activity.objects.get(model="outbox.endpoint").scope, stored.is_on) == (str(site.pk), True)


def test_an_owner_makes_one_of_the_installation_or_of_any_site(site: Site, owner: Api) -> None:
    assert owner("POST", "endpoints", NEW).json()["site_id"] is None
    assert owner("POST", "endpoints", {**NEW, "site_id": site.public_id}).json()["site_id"] == site.public_id
    assert sorted(Endpoint.objects.values_list("scope", flat=True)) == ["", str(site.pk)]


def test_an_admin_of_one_site_finds_no_endpoint_of_another_or_of_the_installation(site: Site) -> None:
    admin = Api(make_user("admin", role="admin", sites=[make_site("Other")]), root=API)
    for endpoint in (make_endpoint(scope=str(site.pk)), make_endpoint()):
        page = f"endpoints/{endpoint.pk}"

        answers = [
            admin("GET", page),
            admin("PATCH", page, {"url": "https://thief.example/"}),
            admin("POST", f"{page}/rotate-secret"),
            admin("DELETE", page),
        ]

        assert {answer.status_code for answer in answers} == {404}
        now = Endpoint.objects.get(pk=endpoint.pk)
        assert (now.url, now.encrypted_secret) == (endpoint.url, endpoint.encrypted_secret)
    assert admin("GET", "endpoints").json() == {"endpoints": []}
    assert admin("POST", "endpoints", {**NEW, "site_id": site.public_id}).status_code == 400
    assert admin("POST", "endpoints", NEW).json()["site_id"] == Site.objects.get(name="Other").public_id


BAD = {
    "no url": ({"kinds": []}, "url"),
    "another scheme": ({**NEW, "url": "ftp://shop.example/"}, "url"),
    "no TLS": ({**NEW, "url": "http://shop.example/"}, "url"),
    "a private address": ({**NEW, "url": "https://10.0.0.1/"}, "url"),
    "a password": ({**NEW, "url": "https://a:b@shop.example/"}, "url"),
    "an unknown kind": ({**NEW, "kinds": ["conversion.lost"]}, "kinds.0"),
    "a kind that no site has": ({**NEW, "kinds": ["pdf.failed"]}, "kinds"),
    "a kind that is no text": ({**NEW, "kinds": [1]}, "kinds.0"),
    "a long description": ({**NEW, "description": "x" * 201}, "description"),
    "an unknown name": ({**NEW, "secret": "mine"}, "secret"),
    "a site of others": ({**NEW, "site_id": "f" * 32}, "site_id"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_endpoint_is_refused_with_the_field(api: Api, case: str) -> None:
    body, field = BAD[case]

    answer = api("POST", "endpoints", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "VALIDATION"
    assert [error["field"] for error in answer.json()["error"]["fields"]] == [field]
    assert not Endpoint.objects.exists()


def test_one_who_manages_several_sites_has_to_name_one(site: Site) -> None:
    both = Api(make_user("both", role=None, sites={site: "operator", make_site("Boya"): "admin"}), root=API)

    answer = both("POST", "endpoints", NEW)

    assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (400, "site_id")
    assert both("POST", "endpoints", {**NEW, "site_id": site.public_id}).status_code == 201


def test_a_user_without_a_site_makes_none() -> None:
    assert Api(make_user("stranger"), root=API)("POST", "endpoints", NEW).status_code == 403


def test_there_is_a_limit_of_endpoints(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outbox.api.endpoints.MOST_ENDPOINTS", 1)
    api("POST", "endpoints", NEW)

    assert api("POST", "endpoints", NEW).json()["error"]["code"] == "TOO_MANY_ENDPOINTS"


CHANGES = ["rotate-secret", "switch-on", "switch-off", "test", "replay"]
SPAN = {"from": "2026-11-16T09:00:00Z", "to": "2026-11-16T10:00:00Z"}


def asked(path: str) -> Any:
    return SPAN if path.endswith("replay") else {}


@pytest.mark.parametrize("verb", ["", *CHANGES])
def test_a_viewer_sees_a_site_s_endpoints_without_the_query_and_changes_none(
    site: Site, viewer: Api, verb: str
) -> None:
    endpoint = make_endpoint(scope=str(site.pk), url="https://shop.example/hook?token=1")
    path = f"endpoints/{endpoint.pk}/{verb}".rstrip("/")

    seen = viewer("GET", f"endpoints/{endpoint.pk}")
    answers = [viewer("POST", path, asked(path))] if verb else [viewer("DELETE", path), viewer("PATCH", path, {})]

    assert seen.json()["url"] == "https://shop.example/hook?…"
    assert "token" not in viewer("GET", "endpoints").text
    assert {answer.status_code for answer in answers} == {403}
    before = refusals()
    assert viewer("POST", "endpoints", NEW).status_code == 403
    assert refusals() == before + 1
    endpoint.refresh_from_db()
    assert (endpoint.is_on, endpoint.previous_secret, OutboxMessage.objects.count()) == (True, "", 0)


def test_an_endpoint_is_changed_in_what_is_given(site: Site, api: Api) -> None:
    endpoint = make_endpoint(scope=str(site.pk), description="old")

    answer = api("PATCH", f"endpoints/{endpoint.pk}", {"kinds": ["site.paused", "site.paused"]})

    assert (answer.json()["kinds"], answer.json()["description"]) == (["site.paused"], "old")
    assert api("PATCH", f"endpoints/{endpoint.pk}", {"url": "nowhere"}).status_code == 400
    assert api("PATCH", f"endpoints/{endpoint.pk}", {"scope": ""}).status_code == 400


def test_a_new_secret_is_shown_once_and_the_old_one_stays_valid(site: Site, api: Api) -> None:
    endpoint = make_endpoint(scope=str(site.pk))
    (old,) = endpoint.secrets(timezone.now())

    answer = api("POST", f"endpoints/{endpoint.pk}/rotate-secret").json()

    endpoint.refresh_from_db()
    assert endpoint.secrets(timezone.now()) == [answer["secret"], old]
    assert answer["previous_secret_until"]


def test_an_endpoint_is_switched_off_and_on(site: Site, api: Api) -> None:
    endpoint = make_endpoint(scope=str(site.pk))

    off = api("POST", f"endpoints/{endpoint.pk}/switch-off").json()
    test = api("POST", f"endpoints/{endpoint.pk}/test")
    replay = api("POST", f"endpoints/{endpoint.pk}/replay", SPAN)
    on = api("POST", f"endpoints/{endpoint.pk}/switch-on").json()

    assert (off["is_on"], off["off_reason"], on["is_on"], on["off_reason"]) == (False, "OPERATOR", True, None)
    assert [each.json()["error"]["code"] for each in (test, replay)] == ["ENDPOINT_OFF"] * 2
    messages = list(Activity.objects.filter(model="outbox.endpoint").order_by("id").values_list("message", flat=True))
    assert messages == ["Switched off.", "Switched on."]


def test_a_test_is_queued(site: Site, api: Api) -> None:
    endpoint = make_endpoint(scope=str(site.pk))

    answer = api("POST", f"endpoints/{endpoint.pk}/test")

    assert (answer.status_code, answer.json()["kind"], answer.json()["status"]) == (201, "test", "QUEUED")


def test_an_endpoint_with_messages_is_kept(site: Site, api: Api) -> None:
    used, unused = make_endpoint(scope=str(site.pk)), make_endpoint(scope=str(site.pk))
    make_message(endpoint=used)

    assert api("DELETE", f"endpoints/{used.pk}").json()["error"]["code"] == "ENDPOINT_HAS_MESSAGES"
    assert api("DELETE", f"endpoints/{unused.pk}").status_code == 204
    assert list(Endpoint.objects.all()) == [used]


def test_a_span_that_ends_before_it_begins_is_refused(site: Site, api: Api) -> None:
    endpoint = make_endpoint(scope=str(site.pk))
    path = f"endpoints/{endpoint.pk}/replay"

    assert "before" in api("POST", path, {"from": SPAN["to"], "to": SPAN["from"]}).json()["error"]["message"]
    assert api("POST", path, {**SPAN, "from": "2026-11-16T09:00:00"}).status_code == 400  # no offset
    assert not Activity.objects.filter(model="outbox.endpoint").exists()
    assert api("POST", path, SPAN).json() == {"replayed": 0, "created": 0, "resume_after": None}
    assert Activity.objects.get(model="outbox.endpoint").message.startswith("Replayed 2026-11-16T09:00")


def test_a_switched_off_endpoint_keeps_why(site: Site, api: Api) -> None:
    endpoint = make_endpoint(scope=str(site.pk))
    Endpoint.objects.switch_off(OffReason.GONE)
    Endpoint.objects.update(failing_since=Now())

    shown = api("GET", f"endpoints/{endpoint.pk}").json()

    assert (shown["off_reason"], bool(shown["off_at"]), bool(shown["failing_since"])) == ("GONE", True, True)
