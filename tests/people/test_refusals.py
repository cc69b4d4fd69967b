"""What was refused is written down: once, small, for a while, and never changed."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now
from django.test import Client

from kilit.access.models import ApiKey, DenialCode, DeniedRequest
from kilit.access.models.denied_request import MAX_PER_MINUTE
from ociqueue.models import Conversion, SiteMembership
from tests.support.denied_requests import refusals

pytestmark = pytest.mark.django_db


def note(path: str = "/admin/x/", **facts) -> None:
    told = {"actor": "viewer:ayse", "method": "POST", "code": DenialCode.FORBIDDEN, **facts}
    DeniedRequest.objects.record(path=path, **told)


def age(row: DeniedRequest, days: int) -> None:
    """Make a refusal old, which nobody can but the one who turns the guard off."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        DeniedRequest.objects.filter(pk=row.pk).update(minute=Now() - timedelta(days=days))
        cursor.execute("SET session_replication_role = DEFAULT")


def test_a_viewers_hand_made_action_is_refused_and_kept(client_of, showcase) -> None:
    row = Conversion.objects.filter(status="FAILED").first()

    answer = client_of("viewer").post(
        "/admin/ociqueue/conversion/act/retry_selected/", {"ids": str(row.pk), "reason": "mine now"}
    )

    kept = DeniedRequest.objects.get()
    assert answer.status_code == 403
    assert (kept.actor, kept.method, kept.code, kept.times) == ("viewer:demo-viewer", "POST", "FORBIDDEN", 1)
    assert kept.path == "/admin/ociqueue/conversion/act/retry_selected/"
    assert Conversion.objects.get(pk=row.pk).status == "FAILED"


def test_an_action_that_the_list_does_not_offer_is_refused_and_kept(client_of, showcase) -> None:
    row = Conversion.objects.filter(status="FAILED").first()

    answer = client_of("viewer").post(
        "/admin/ociqueue/conversion/", {"action": "retry", "_selected_action": [row.pk], "index": "0"}
    )

    assert answer.status_code == 403
    assert DeniedRequest.objects.get().code == "FORBIDDEN"


@pytest.mark.parametrize("role", ["", "viewer"])
def test_rows_of_a_site_one_does_not_run_stay_and_naming_them_is_kept(client_of, showcase, stranger, role: str) -> None:
    if role:
        SiteMembership.objects.create(site=showcase, user=stranger, role=role)
    row = showcase.conversions.filter(status="FAILED").first()

    client_of("stranger").post(
        "/admin/ociqueue/conversion/act/retry_selected/", {"ids": str(row.pk), "reason": "mine now"}
    )

    kept = DeniedRequest.objects.get()
    assert (kept.actor, kept.code, kept.detail) == ("operator:stranger", "NOT_YOURS", "1 of 1 rows")
    assert Conversion.objects.get(pk=row.pk).status == "FAILED"


def test_an_operators_own_work_leaves_no_refusal(client_of, showcase) -> None:
    row = showcase.conversions.filter(status="FAILED").first()

    client_of("operator").post(
        "/admin/ociqueue/conversion/act/retry_selected/", {"ids": str(row.pk), "reason": "fixed"}
    )

    assert Conversion.objects.get(pk=row.pk).status == "QUEUED"
    assert refusals() == 0


def test_a_mistyped_address_is_no_refusal(client_of) -> None:
    client = client_of("operator")

    client.get("/admin/ociqueue/site/00000000-0000-0000-0000-000000000000/change/")
    client.get("/admin/nothing/here/")

    assert refusals() == 0


def test_a_form_from_elsewhere_is_refused_in_words_and_kept(client_of) -> None:
    client = client_of("operator")
    client.handler.enforce_csrf_checks = True

    answer = client.post("/admin/ociqueue/conversion/act/retry_selected/", {"reason": "from elsewhere"})

    kept = DeniedRequest.objects.get()
    assert answer.status_code == 403
    assert "not sent from our own page" in answer.content.decode()
    assert (kept.actor, kept.code) == ("operator:demo-operator", "CSRF")
    assert "CSRF" in kept.detail


def test_a_language_cannot_be_switched_from_elsewhere() -> None:
    answer = Client(enforce_csrf_checks=True).post("/admin/language/", {"language": "tr"})

    assert answer.status_code == 403


def test_a_revoked_key_that_is_still_used_is_kept_and_an_unknown_one_is_not() -> None:
    user = User.objects.create_user("backend")
    key, text = ApiKey.objects.issue(user, name="test")
    ApiKey.objects.filter(pk=key.pk).revoke()

    known = Client().get("/pdf/templates", headers={"x-api-key": text})
    unknown = Client().get("/pdf/templates", headers={"x-api-key": "kilit_made-up"})

    kept = DeniedRequest.objects.get()
    assert known.status_code == unknown.status_code == 401
    assert (kept.actor, kept.code, kept.path) == ("ended key:backend", "ENDED_KEY", "/pdf/templates")
    assert text not in str(list(DeniedRequest.objects.values_list()))


def test_the_same_again_is_counted_not_added() -> None:
    for _ in range(5):
        note()

    # The minute may have turned in between.
    assert DeniedRequest.objects.count() <= 2
    assert refusals() == 5


def test_a_flood_stays_small_and_every_one_is_counted() -> None:
    for number in range(MAX_PER_MINUTE * 3):
        note(f"/admin/{number}/")

    assert DeniedRequest.objects.count() <= 2 * (MAX_PER_MINUTE + 1)
    assert refusals() == MAX_PER_MINUTE * 3
    assert DeniedRequest.objects.filter(code="MANY").exists()


@pytest.mark.django_db(transaction=True)
def test_refusals_at_the_same_moment_count_on_one_row(in_threads) -> None:
    in_threads(lambda _: note(), count=10)

    assert DeniedRequest.objects.count() <= 2
    assert refusals() == 10


def test_nobody_changes_or_deletes_what_is_kept() -> None:
    note()
    rows = DeniedRequest.objects.all()

    for tamper in (
        lambda: rows.update(actor="somebody else"),
        lambda: rows.update(times=0),
        lambda: rows.update(detail="harmless", times=2),
        rows.delete,
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            tamper()

    assert DeniedRequest.objects.get().actor == "viewer:ayse"


def test_old_ones_are_forgotten_and_younger_stay(settings, capsys) -> None:
    note("/admin/old/")
    age(DeniedRequest.objects.get(), days=settings.KEEP_REFUSALS_FOR.days + 1)
    note("/admin/young/")

    call_command("forget_denied_requests", dry_run=True)
    call_command("forget_denied_requests")

    assert capsys.readouterr().out == "Would delete 1.\nDeleted 1.\n"
    assert DeniedRequest.objects.get().path == "/admin/young/"


def test_text_that_cannot_be_stored_does_not_turn_a_refusal_into_a_fault() -> None:
    note("/admin/" + "x" * 5000 + "\x00\ud800", actor="a" * 500)

    assert len(DeniedRequest.objects.get().path) == 300


def test_admins_read_them_and_nobody_else(client_of) -> None:
    note("/admin/somewhere/")

    assert "/admin/somewhere/" in client_of("admin").get("/admin/access/deniedrequest/").content.decode()
    for role in ("viewer", "operator"):
        assert client_of(role).get("/admin/access/deniedrequest/").status_code == 403
