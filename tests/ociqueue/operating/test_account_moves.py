"""A site moves to another Google account or sender: its admin is warned of rows that the old account may have."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from ociqueue.models import Conversion, Credentials, Site
from ociqueue.operating.senders import UnsettledRows, unsettled_rows
from tests.support.conversions import new_conversion
from tests.support.credentials_form import page_of, stored
from tests.support.uploads import account, html, received

pytestmark = pytest.mark.django_db

OTHER = {"customer_id": "999-888-7777", "conversion_action": "8"}


@pytest.fixture
def site(make_site) -> Site:
    site = make_site(sync_method="api")
    Credentials.objects.store(site, account())
    return site


def make_unknown(site: Site, number: int = 1) -> None:
    """Make rows that a worker claimed and never reported."""
    rows = Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
    Conversion.objects.filter(pk__any_of=[row.pk for row in rows]).claim(limit=number, sender=site.sync_method)
    Conversion.objects.filter(status="PROCESSING").update(claimed_at="2026-01-01T00:00Z")
    Conversion.objects.recover()


def change_sender(client: Client, site: Site, sender: str, **more: Any) -> Any:
    names = ("name", "time_zone", "default_currency", "denied_consent", "sync_method")
    shown = {name: getattr(site, name) for name in names}
    before = {f"initial-{name}": value for name, value in shown.items()}
    return client.post(page_of(site, "settings"), {**shown, **before, "sync_method": sender, **more})


def history(site: Site) -> list[str]:
    return [entry.get_change_message() for entry in LogEntry.objects.filter(object_id=str(site.pk)).order_by("pk")]


def test_rows_that_the_old_account_may_have_are_counted(site, make_site) -> None:
    make_unknown(site, 2)
    Conversion.objects.all()[:1].get().move("claim", claimed_at="2026-11-01T00:00Z")
    Conversion.objects.filter(status="PROCESSING").ack_failed(code="E", category="TRANSIENT", message="down")
    Conversion.objects.bulk_create([new_conversion(site) for _ in range(3)])
    Conversion.objects.filter(outcome_unknown=False).claim(limit=2, sender="api")
    make_site()

    assert unsettled_rows(site) == UnsettledRows(processing=2, uploaded=0, unknown_waiting=1, unknown_failed=1)
    assert not unsettled_rows(make_site())


def test_another_customer_id_is_refused_until_it_is_confirmed(admin, site) -> None:
    make_unknown(site, 3)

    asked = html(admin, page_of(site))
    refused = admin.post(page_of(site), OTHER).content.decode()
    kept = stored(site).customer_id
    answer = admin.post(page_of(site), {**OTHER, "confirm_move": "on"})

    for shown in (asked, refused):
        assert "Outcome unknown: 3 wait, 0 failed." in shown
        assert "?site=" in shown, "a link to these rows"
    assert "Tick the box to move the site all the same." not in asked
    assert "Tick the box to move the site all the same." in refused
    assert kept == account().customer_id
    assert (answer.status_code, stored(site).customer_id) == (302, "9998887777")
    assert history(site)[-1] == (
        "Moved from the Google account that ends in 7890 to the one that ends in 7777, with unsettled rows: "
        "0 PROCESSING, 0 UPLOADED, 3 waiting and 0 failed with an unknown outcome."
    )


def test_without_such_rows_no_confirmation_is_asked_for_and_the_move_is_in_the_history(admin, site) -> None:
    assert "confirm_move" not in html(admin, page_of(site))

    admin.post(page_of(site), OTHER)

    assert stored(site).customer_id == "9998887777"
    assert history(site)[-1] == "Moved from the Google account that ends in 7890 to the one that ends in 7777."


@pytest.mark.parametrize("entered", [{"refresh_token": "1//another"}, {"customer_id": "123-456-7890"}])
def test_the_same_account_needs_no_confirmation(admin, site, entered: dict[str, str]) -> None:
    make_unknown(site)

    assert admin.post(page_of(site), entered).status_code == 302
    assert "Moved" not in history(site)[-1]


def test_another_sender_is_refused_until_it_is_confirmed(admin, site) -> None:
    make_unknown(site, 2)

    asked = html(admin, page_of(site, "settings"))
    refused = change_sender(admin, site, "datamanager")
    renamed = change_sender(admin, site, "api", name="Yeni")
    answer = change_sender(admin, site, "datamanager", confirm_sender="on")

    assert "Outcome unknown: 2 wait, 0 failed." in asked
    assert "Tick the box to change the sender all the same." in refused.content.decode()
    assert renamed.status_code == answer.status_code == 302
    site.refresh_from_db()
    assert (site.name, site.sync_method) == ("Yeni", "datamanager")
    assert (
        "Changed the sender from api to datamanager, with unsettled rows: "
        "0 PROCESSING, 0 UPLOADED, 2 waiting and 0 failed with an unknown outcome."
    ) in history(site)


def test_a_sender_is_changed_without_a_question_when_nothing_is_open(admin, site) -> None:
    assert "Before another account gets the rows" not in html(admin, page_of(site, "settings"))

    assert change_sender(admin, site, "script").status_code == 302
    assert Site.objects.get(pk=site.pk).sync_method == "script"


def test_rows_that_wait_for_a_verdict_ask_for_a_confirmation_too(make_person, make_site) -> None:
    site = make_site(sync_method="datamanager")
    Credentials.objects.store(site, account())
    admin = make_person("fatma", role="admin", sites={site: "admin"})
    received(site, count=2)

    refused = admin.post(page_of(site), OTHER).content.decode()

    assert "Waiting for Google: 2." in refused
    assert stored(site).customer_id == account().customer_id


def test_a_list_has_only_rows_whose_outcome_is_unknown(admin, site, make_conversion) -> None:
    make_unknown(site)
    unknown = Conversion.objects.get()
    make_conversion(site)

    answer = admin.get("/admin/ociqueue/conversion/", {"site": str(site.pk), "outcome": "unknown"})

    assert list(answer.context["cl"].result_list) == [unknown]
