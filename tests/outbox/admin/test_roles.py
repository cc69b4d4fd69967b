"""Who sees and manages which endpoints and messages; what is refused is recorded."""

import pytest

from kilit.access.models import DeniedRequest
from kilit.lock.models import Activity
from outbox.models import Endpoint, OutboxMessage
from tests.support.dashboard import text_of
from tests.support.outbox import make_attempt, make_failed_message, make_message

pytestmark = pytest.mark.django_db

ENDPOINTS, MESSAGES = "/admin/outbox/endpoint/", "/admin/outbox/outboxmessage/"
ACTIONS = ("settings/", "switch-on/", "switch-off/", "rotate-secret/", "send-test/", "replay/", "delete/")


@pytest.fixture
def messages(house) -> dict[str, OutboxMessage]:
    made = {}
    for name in ("of_mine", "of_theirs", "of_all"):
        made[name] = make_failed_message(endpoint=getattr(house, name), code=f"CODE_{name.upper()}")
        make_attempt(made[name], answer="You sent ?token=abcd1234, which is wrong.")
    return made


@pytest.mark.parametrize("role", ["operator", "admin"])
@pytest.mark.parametrize("name", ["of_theirs", "of_all"])
def test_a_member_finds_nothing_of_others_by_address(make_person, house, messages, name: str, role: str) -> None:
    client = make_person(role=role, sites={house.mine: role})
    other = getattr(house, name)

    for page in ("change/", *ACTIONS):
        assert client.get(f"{ENDPOINTS}{other.pk}/{page}").status_code == 404, page
    posted = client.post(f"{ENDPOINTS}{other.pk}/switch-off/", {"reason": "mine now"})
    assert posted.status_code == 404
    assert client.get(f"{MESSAGES}{messages[name].pk}/change/").status_code == 302
    assert Endpoint.objects.get(pk=other.pk).is_on
    assert {"NOT_YOURS"} == set(DeniedRequest.objects.values_list("code", flat=True))


def test_a_member_cannot_act_on_messages_of_others(make_person, house, messages) -> None:
    client = make_person(role="operator", sites={house.mine: "operator"})
    ids = ",".join(str(message.pk) for message in messages.values())

    client.post(f"{MESSAGES}act/retry/", {"ids": ids, "reason": "all of them"})

    states = {name: OutboxMessage.objects.get(pk=message.pk).status for name, message in messages.items()}
    assert states == {"of_mine": "QUEUED", "of_theirs": "FAILED", "of_all": "FAILED"}
    assert DeniedRequest.objects.get().code == "NOT_YOURS"


def test_an_operator_role_without_a_site_manages_nothing(make_person, house) -> None:
    client = make_person(role="operator")

    assert "example" not in client.get(ENDPOINTS).text
    assert client.get(f"{ENDPOINTS}add/").status_code == 403


def test_a_viewer_of_a_site_who_operates_another_only_looks_there(make_person, house) -> None:
    client = make_person(role="operator", sites={house.mine: "operator", house.theirs: "viewer"})

    assert client.get(f"{ENDPOINTS}{house.of_theirs.pk}/change/").status_code == 200
    assert client.post(f"{ENDPOINTS}{house.of_theirs.pk}/switch-off/", {"reason": "x"}).status_code == 403
    assert Endpoint.objects.get(pk=house.of_theirs.pk).is_on


def test_nothing_a_viewer_reads_has_a_secret_or_a_query(make_person, house, messages) -> None:
    admin = make_person("admin", role="admin", sites={house.mine: "admin"})
    admin.post(f"{ENDPOINTS}{house.of_mine.pk}/rotate-secret/", {"after": "none"})
    admin.post(
        f"{ENDPOINTS}{house.of_mine.pk}/settings/",
        {"url": "https://mine.example/new?token=abcd1234", "kinds": [], "description": ""},
    )
    admin.post(f"{ENDPOINTS}{house.of_mine.pk}/switch-off/", {"reason": "x"})
    assert Activity.objects.filter(model="outbox.endpoint").count() == 3
    endpoint = Endpoint.objects.get(pk=house.of_mine.pk)
    client = make_person(role="viewer", sites={house.mine: "viewer"})

    pages = [
        ENDPOINTS,
        f"{ENDPOINTS}{endpoint.pk}/change/",
        MESSAGES,
        f"{MESSAGES}{messages['of_mine'].pk}/change/",
        f"{MESSAGES}dead-letters/",
        "/admin/lock/activity/",
        "/admin/",
    ]
    for address in pages:
        answer = client.get(address)
        text = answer.getvalue().decode()
        assert answer.status_code == 200
        assert "abcd1234" not in text
        assert "whsec_" not in text
        assert endpoint.encrypted_secret not in text
        assert endpoint.previous_secret not in text
    assert "mine.example" in client.get(f"{ENDPOINTS}{endpoint.pk}/change/").text.replace("<wbr>", "")
    assert "You sent ?…, which is wrong." in client.get(f"{MESSAGES}{messages['of_mine'].pk}/change/").text


def test_changes_are_in_the_activity_of_the_sites_members_only(make_person, house) -> None:
    admin = make_person("owner", role="owner")
    for endpoint in (house.of_mine, house.of_theirs, house.of_all):
        admin.post(f"{ENDPOINTS}{endpoint.pk}/switch-off/", {"reason": "Moving house"})
    member = make_person(role="viewer", sites={house.mine: "viewer"})

    text = text_of(member, "/admin/lock/activity/")

    assert "https://mine.example/hook?… · Switched off: Moving house" in text
    assert "theirs.example" not in text
    assert "everything.example" not in text
    assert text_of(admin, "/admin/lock/activity/").count("Switched off: Moving house") == 3


def test_an_owner_manages_all_endpoints_and_pauses_the_queue(make_person, house) -> None:
    owner = make_person("owner", role="owner")
    admin = make_person("admin", role="admin", sites={house.mine: "admin"})

    for endpoint in (house.of_mine, house.of_theirs, house.of_all):
        assert "Send a test" in owner.get(f"{ENDPOINTS}{endpoint.pk}/change/").text
    assert owner.get(f"{MESSAGES}pause/").status_code == 200
    assert admin.get(f"{MESSAGES}pause/").status_code == 403, "it would stop the messages of all sites"
    owner.post(f"{MESSAGES}pause/", {"reason": "Maintenance"})
    assert admin.post(f"{MESSAGES}resume/").status_code == 403
    assert f'action="{MESSAGES}resume/"' not in admin.get(MESSAGES).text
    assert f'action="{MESSAGES}resume/"' in owner.get(MESSAGES).text


def test_counts_are_those_of_the_own_site(make_person, house) -> None:
    make_message(endpoint=house.of_mine)
    for _number in range(3):
        make_message(endpoint=house.of_theirs)
        make_message(endpoint=house.of_all)
    client = make_person(role="viewer", sites={house.mine: "viewer"})

    assert "All 1 Waiting" in text_of(client, MESSAGES)
