"""API keys: hashed at rest, shown once, several per user, revocable, accepted in two headers."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from kilit.access.models import ApiKey
from kilit.lock.audit import acting_as, current_context

pytestmark = pytest.mark.django_db


class WhoView(APIView):
    def get(self, request):
        return Response({"user": request.user.username, "actor": current_context().actor})


def ask(**headers: str) -> Response:
    with acting_as("anonymous"):
        return WhoView.as_view()(APIRequestFactory().get("/", headers=headers))


@pytest.fixture
def service() -> User:
    return User.objects.create_user("invoices")


@pytest.mark.parametrize("header", [lambda key: {"x-api-key": key}, lambda key: {"authorization": f"Bearer {key}"}])
def test_a_key_opens_as_its_user_in_either_header(service, header) -> None:
    _, text = ApiKey.objects.issue(service, name="test")

    answer = ask(**header(text))

    assert answer.data == {"user": "invoices", "actor": "key:invoices"}


def test_the_text_is_nowhere_in_the_database(service, sql) -> None:
    _, text = ApiKey.objects.issue(service, name="test")

    ((row,),) = sql("SELECT access_apikey::text FROM access_apikey")
    assert text not in row
    assert text.removeprefix("kilit_")[:8] not in row


def test_a_user_has_several_keys_and_revoking_one_leaves_the_others(service) -> None:
    _, kept = ApiKey.objects.issue(service, name="kept")
    revoked, text = ApiKey.objects.issue(service, name="revoked")

    assert ApiKey.objects.filter(pk=revoked.pk).revoke() == 1
    assert ApiKey.objects.filter(pk=revoked.pk).revoke() == 0

    assert ask(**{"x-api-key": text}).status_code == 401
    assert ask(**{"x-api-key": kept}).status_code == 200


def test_expired_keys_and_keys_of_inactive_users_open_nothing(service) -> None:
    _, text = ApiKey.objects.issue(service, name="test")

    ApiKey.objects.update(expires_at="2020-01-01T00:00Z")
    assert ask(**{"x-api-key": text}).status_code == 401

    ApiKey.objects.update(expires_at=None)
    User.objects.update(is_active=False)
    assert ask(**{"x-api-key": text}).status_code == 401


@pytest.mark.parametrize("key", ["nonsense", "kilit_", "ğü", "\x00", "a" * 10_000, "%s'--"])
def test_a_key_that_is_none_is_refused_not_a_fault(key: str) -> None:
    request = RequestFactory().get("/")
    request.META["HTTP_X_API_KEY"] = key

    answer = WhoView.as_view()(request)

    assert (answer.status_code, answer.data["error"]["code"]) == (401, "UNAUTHENTICATED")


def test_another_scheme_is_no_key() -> None:
    answer = ask(authorization="Basic a2lsaXQ6a2lsaXQ=")

    assert answer.data["error"]["message"] == "Authentication credentials were not provided."


def test_use_is_noted_but_not_with_every_request(service, django_assert_num_queries) -> None:
    _, text = ApiKey.objects.issue(service, name="test")

    ask(**{"x-api-key": text})
    first = ApiKey.objects.get().used_at
    ask(**{"x-api-key": text})

    assert first is not None
    assert ApiKey.objects.get().used_at == first


def test_the_console_shows_a_new_key_once(admin_client, service) -> None:
    form = {"user": service.pk, "name": "billing", "scopes": ["enqueue"]}
    answer = admin_client.post("/admin/access/apikey/add/", form, follow=True)
    (text,) = {found for message in answer.context["messages"] for found in re.findall(r"kilit_[\w-]+", str(message))}

    assert ApiKey.objects.holding(text).name == "billing"
    assert text not in admin_client.get("/admin/access/apikey/").content.decode()


def test_the_console_revokes_and_tells_the_count(admin_client, service) -> None:
    keys = [ApiKey.objects.issue(service, name=name)[0] for name in "ab"]
    ApiKey.objects.filter(name="a").revoke()

    answer = admin_client.post(
        "/admin/access/apikey/", {"action": "revoke", "_selected_action": [key.pk for key in keys]}, follow=True
    )

    assert [str(m) for m in answer.context["messages"]] == ["Revoked 1 of 2; the others were already revoked."]
    assert not ApiKey.objects.valid().exists()
