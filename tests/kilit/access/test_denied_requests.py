"""Denied requests are recorded: once, in little space, for a while, and never changed."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now
from django.test import Client

from kilit.access.models import ApiKey, DenialCode, DeniedRequest
from kilit.access.models.denied_request import MAX_PER_MINUTE
from kilit.sites.models import SiteMembership
from ociqueue.models import Conversion
from tests.support.denied_requests import refusals

pytestmark = pytest.mark.django_db

ACT = "/admin/ociqueue/conversion/act/retry_selected/"


def deny(path: str = "/admin/x/", **values) -> None:
    values = {"actor": "viewer:ayse", "method": "POST", "code": DenialCode.FORBIDDEN, **values}
    DeniedRequest.objects.record(path=path, **values)


def age(row: DeniedRequest, days: int) -> None:
    """Change the time of a row, which needs the triggers off."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        DeniedRequest.objects.filter(pk=row.pk).update(minute=Now() - timedelta(days=days))
        cursor.execute("SET session_replication_role = DEFAULT")


def retry(client: Client, row: Conversion) -> Any:
    return client.post(ACT, {"ids": str(row.pk), "reason": "mine now"})


def test_a_viewers_forged_action_is_denied_and_recorded(client_of, showcase) -> None:
    row = Conversion.objects.filter(status="FAILED").first()

    answer = retry(client_of("viewer"), row)

    kept = DeniedRequest.objects.get()
    assert answer.status_code == 403
    assert (kept.actor, kept.method, kept.code, kept.times) == ("viewer:demo-viewer", "POST", "FORBIDDEN", 1)
    assert kept.path == ACT
    assert Conversion.objects.get(pk=row.pk).status == "FAILED"


def test_an_action_that_the_list_does_not_offer_is_denied_and_recorded(client_of, showcase) -> None:
    row = Conversion.objects.filter(status="FAILED").first()

    answer = client_of("viewer").post(
        "/admin/ociqueue/conversion/", {"action": "retry", "_selected_action": [row.pk], "index": "0"}
    )

    assert answer.status_code == 403
    assert DeniedRequest.objects.get().code == "FORBIDDEN"


@pytest.mark.parametrize("role", ["", "viewer"])
def test_acting_on_rows_of_another_site_changes_nothing_and_is_recorded(
    client_of, showcase, stranger, role: str
) -> None:
    if role:
        SiteMembership.objects.create(site=showcase, user=stranger, role=role)
    row = showcase.conversions.filter(status="FAILED").first()

    retry(client_of("stranger"), row)

    kept = DeniedRequest.objects.get()
    assert (kept.actor, kept.code, kept.detail) == ("operator:stranger", "NOT_YOURS", "1 of 1 rows")
    assert Conversion.objects.get(pk=row.pk).status == "FAILED"


def test_permitted_actions_are_not_recorded(client_of, showcase) -> None:
    row = showcase.conversions.filter(status="FAILED").first()

    retry(client_of("operator"), row)

    assert Conversion.objects.get(pk=row.pk).status == "QUEUED"
    assert refusals() == 0


def test_a_mistyped_address_is_not_recorded(client_of) -> None:
    client = client_of("operator")

    client.get("/admin/ociqueue/site/00000000-0000-0000-0000-000000000000/change/")
    client.get("/admin/nothing/here/")

    assert refusals() == 0


def test_a_form_from_another_site_is_denied_and_recorded(client_of) -> None:
    client = client_of("operator")
    client.handler.enforce_csrf_checks = True

    answer = client.post(ACT, {"reason": "from elsewhere"})

    kept = DeniedRequest.objects.get()
    assert answer.status_code == 403
    assert "not sent from our own page" in answer.content.decode()
    assert (kept.actor, kept.code) == ("operator:demo-operator", "CSRF")
    assert "CSRF" in kept.detail


def test_the_language_cannot_be_switched_from_another_site() -> None:
    answer = Client(enforce_csrf_checks=True).post("/admin/language/", {"language": "tr"})

    assert answer.status_code == 403


def test_use_of_a_revoked_key_is_recorded_and_of_an_unknown_one_is_not() -> None:
    user = User.objects.create_user("backend")
    key, text = ApiKey.objects.issue(user, name="test")
    ApiKey.objects.filter(pk=key.pk).revoke()

    known = Client().get("/pdf/templates", headers={"x-api-key": text})
    unknown = Client().get("/pdf/templates", headers={"x-api-key": "kilit_made-up"})

    kept = DeniedRequest.objects.get()
    assert known.status_code == unknown.status_code == 401
    assert (kept.actor, kept.code, kept.path) == ("ended key:backend", "ENDED_KEY", "/pdf/templates")
    assert text not in str(list(DeniedRequest.objects.values_list()))


def test_identical_requests_are_counted_in_one_row() -> None:
    for _ in range(5):
        deny()

    # The minute may have turned in between.
    assert DeniedRequest.objects.count() <= 2
    assert refusals() == 5


def test_a_flood_needs_few_rows_and_every_request_is_counted() -> None:
    for number in range(MAX_PER_MINUTE * 3):
        deny(f"/admin/{number}/")

    assert DeniedRequest.objects.count() <= 2 * (MAX_PER_MINUTE + 1)
    assert refusals() == MAX_PER_MINUTE * 3
    assert DeniedRequest.objects.filter(code="MANY").exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_are_counted_in_one_row(in_threads) -> None:
    in_threads(lambda _: deny(), count=10)

    assert DeniedRequest.objects.count() <= 2
    assert refusals() == 10


def test_rows_can_be_neither_changed_nor_deleted() -> None:
    deny()
    rows = DeniedRequest.objects.all()

    for tamper in (
        lambda: rows.update(actor="another"),
        lambda: rows.update(times=0),
        lambda: rows.update(detail="harmless", times=2),
        rows.delete,
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            tamper()

    assert DeniedRequest.objects.get().actor == "viewer:ayse"


def test_old_rows_are_deleted_and_newer_ones_stay(settings, capsys) -> None:
    deny("/admin/old/")
    age(DeniedRequest.objects.get(), days=settings.KEEP_DENIED_REQUESTS_FOR.days + 1)
    deny("/admin/young/")

    call_command("forget_denied_requests", dry_run=True)
    call_command("forget_denied_requests")

    assert capsys.readouterr().out == "Would delete 1.\nDeleted 1.\n"
    assert DeniedRequest.objects.get().path == "/admin/young/"


def test_text_that_cannot_be_stored_does_not_cause_an_error() -> None:
    deny("/admin/" + "x" * 5000 + "\x00\ud800", actor="a" * 500)

    assert len(DeniedRequest.objects.get().path) == 300
