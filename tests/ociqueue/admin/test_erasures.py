"""Forget a person in the console, and what the console shows of erased conversions."""

from typing import Any

import pytest
from django.core import signing
from django.test import Client

from ociqueue.admin import erasures
from ociqueue.models import Conversion, Erasure
from tests.support.api import Api
from tests.support.bulk_actions import said
from tests.support.conversions import make_completed, make_failed, new_conversion
from tests.support.erasure import GCLID

pytestmark = pytest.mark.django_db

PAGE = "/admin/ociqueue/erasure/forget/"
LIST = "/admin/ociqueue/erasure/"


def look(client: Client, **given: Any) -> Any:
    return client.post(PAGE, {"kind": "click_id", "text": GCLID, "site": "", **given})


def confirm(client: Client, found: Any) -> Any:
    return client.post(PAGE, found.context["kept"], follow=True)


def test_what_is_found_is_counted_per_site_and_erased_once_confirmed(make_person, site, make_site, caplog) -> None:
    other, foreign = make_site(name="Perde"), make_site(name="foreign")
    for each in (site, other, foreign):
        make_completed(each, gclid=GCLID)
    new_conversion(other, gclid=GCLID).save()
    admin = make_person(role="admin", sites={site: "admin", other: "admin", foreign: "operator"})

    found = look(admin)
    assert Conversion.objects.filter(erased_at=None).count() == 4
    answer = confirm(admin, found)

    cells = {tuple(map(str, row.values())) for row in found.context["rows"]}
    assert cells == {("Mobilya", "1", "0"), ("Perde", "1", "1")}
    assert said(answer) == [
        "Erased 2 conversions.",
        "1 have not ended and were left as they are. Erase again when they have ended.",
    ]
    assert set(Conversion.objects.exclude(erased_at=None).values_list("site", flat=True)) == {site.pk, other.pk}
    assert "admin:ayse" in answer.text
    # Neither page nor address nor log repeats the identifier.
    assert GCLID not in found.text + answer.text + caplog.text + str(answer.redirect_chain)


def test_one_site_can_be_chosen(make_person, site, make_site) -> None:
    other = make_site(name="Perde")
    for each in (site, other):
        make_completed(each, gclid=GCLID)
    admin = make_person(role="admin", sites={site: "admin", other: "admin"})

    confirm(admin, look(admin, site=str(other.pk)))

    assert Conversion.objects.exclude(erased_at=None).get().site == other


def test_what_was_typed_is_refused_without_being_repeated(admin_client, site) -> None:
    answer = look(admin_client, kind="phone", text="0532 123 45 67")

    assert "Expected + and the country code" in answer.text
    assert "0532 123 45 67" not in answer.text
    assert not Erasure.objects.exists()


def test_nothing_found_is_recorded_too(admin_client, site) -> None:
    found = look(admin_client)

    assert "No conversions were found." in found.text
    assert said(confirm(admin_client, found)) == ["Erased 0 conversions."]
    assert Erasure.objects.get().rows_erased == 0


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_forget(make_person, site, role: str) -> None:
    person = make_person(role=role, sites={site: "admin"})

    assert (person.get(PAGE).status_code, person.get(LIST).status_code) == (403, 403)
    assert look(person).status_code == 403


def test_an_admin_without_a_site_forgets_no_one(make_person, site) -> None:
    make_completed(site, gclid=GCLID)
    person = make_person(role="admin", sites={site: "operator"})

    assert (person.get(PAGE).status_code, look(person).status_code) == (403, 403)
    assert GCLID in Conversion.objects.get().gclid


def test_a_confirmation_is_of_the_person_who_counted_and_cannot_be_made_up(make_person, admin_client, site) -> None:
    make_completed(site, gclid=GCLID)
    found = look(admin_client)
    other = make_person("other", role="admin", sites={site: "admin"})

    for kept in (found.context["kept"], {"checked": "x"}, {"checked": signing.dumps("x", salt="ociqueue.forget")}):
        assert said(other.post(PAGE, kept, follow=True)) == [
            "Too much time has passed. Nothing was erased; please begin again."
        ]
    assert Conversion.objects.get().erased_at is None


def test_records_are_seen_by_those_who_administer_the_site(make_person, admin_client, site, make_site) -> None:
    make_completed(site, gclid=GCLID)
    confirm(admin_client, look(admin_client))
    mine = make_person(role="admin", sites={site: "admin"})
    others = make_person("other", role="admin", sites={make_site(name="x"): "admin"})

    assert [client.get(LIST).context["cl"].result_count for client in (mine, others)] == [1, 0]


@pytest.mark.parametrize("end", ["COMPLETED", "FAILED"])
def test_an_erased_row_is_shown_and_offers_nothing(admin_client, site, end: str) -> None:
    row = make_completed(site, gclid=GCLID) if end == "COMPLETED" else make_failed(site, gclid=GCLID, message=GCLID)[0]
    confirm(admin_client, look(admin_client))
    row.refresh_from_db()
    address = f"/admin/ociqueue/conversion/{row.pk}"

    page = admin_client.get(f"{address}/change/")
    refused = admin_client.get(f"{address}/correct/", follow=True)
    listed = admin_client.get("/admin/ociqueue/conversion/")
    retried = admin_client.post(f"{address}/retry/", {"reason": ""}, follow=True)

    assert "Erased on " in page.text
    assert "Erased by admin: what identified the person was removed" in page.text
    assert (page.context["offers"], page.context["primary"]) == ([], None)
    assert "It cannot be corrected: it was erased." in refused.text
    assert "erased" in listed.text
    assert GCLID not in page.text + listed.text + refused.text + retried.text
    assert Conversion.objects.get().status == end


def test_lists_files_and_the_api_show_erased_rows(admin_client, site) -> None:
    (row,) = make_failed(site, gclid=GCLID, message=f"of {GCLID}", source_key="order-7")
    confirm(admin_client, look(admin_client))

    exported = admin_client.get("/admin/ociqueue/conversion/dead-letters/")
    rows = Api(client=admin_client).get("oci/queue-rows", siteId=site.public_id)
    searched = admin_client.get("/admin/ociqueue/conversion/?q=order-7")

    text = b"".join(exported.streaming_content).decode()
    assert (str(row) in text, GCLID in text, "of …" in text) == (True, False, True)
    assert rows.json()["rows"][0]["id"] == str(row)
    assert searched.context["cl"].result_count == 1


def test_too_many_texts_are_searched_by_the_command_alone(admin_client, site, monkeypatch) -> None:
    monkeypatch.setattr(erasures, "MOST_TEXTS", -1)

    answer = admin_client.get(PAGE, follow=True)

    assert "Run “manage.py oci_forget” on the server." in answer.text
