"""Sites in bulk: a file is checked, applied as a whole or not at all, and can be exported and imported again."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kilit.sites.models import SiteMembership
from kilit.sites.site_files import SitePlan
from ociqueue.files.sites import SITES
from ociqueue.models import Credentials, Site
from ociqueue.models.credentials import GoogleAdsAccount
from tests.support.agency import make_admin

pytestmark = pytest.mark.django_db

IMPORT = "/admin/ociqueue/site/import/"
EXPORT = "/admin/ociqueue/site/export/sites/"
FILE = """name,customerId,currency,timeZone,sender
Deniz,123-456-7890,try,Europe/Istanbul,script
Orman,2345678901,EUR,Europe/Berlin,api
"""


def store(user: User, text: str, **options: Any) -> SitePlan:
    return SITES.store(user, SITES.lines(BytesIO(text.encode())), **options)


def upload(client: Client, text: str) -> Any:
    return client.post(IMPORT, {"file": SimpleUploadedFile("sites.csv", text.encode())})


def test_a_file_creates_sites_with_their_admin(admin_user: User) -> None:
    plan = store(admin_user, FILE)

    assert plan.rejected == []
    sites = Site.objects.order_by("name").values_list("name", "customer_id", "default_currency", "sync_method")
    assert list(sites) == [("Deniz", "1234567890", "TRY", "script"), ("Orman", "2345678901", "EUR", "api")]
    assert SiteMembership.objects.filter(user=admin_user, role="admin").count() == 2
    assert LogEntry.objects.count() == 2


def test_the_same_file_again_changes_nothing(admin_user: User) -> None:
    store(admin_user, FILE)

    assert store(admin_user, FILE).changes == 0
    assert Site.objects.count() == 2


def test_one_invalid_line_refuses_the_whole_file(admin_user: User, make_site: Callable[..., Site]) -> None:
    make_site(name="Kept", default_currency="TRY")
    text = "name,customerId,currency,timeZone,sender\nKept,,USD,,\nNew,123,XXX,localtime,fax\n,,,,script\nNew,,,,\n"

    plan = store(admin_user, text)

    faults = {(each.line, each.field) for each in plan.rejected}
    assert faults == {
        (3, "customerId"),
        (3, "currency"),
        (3, "timeZone"),
        (3, "sender"),
        (4, "name"),
        (5, ""),
    }
    assert Site.objects.get().default_currency == "TRY"


def test_an_exported_file_can_be_imported_again(admin_client: Client, admin_user: User) -> None:
    store(admin_user, FILE)
    exported = b"".join(admin_client.get(EXPORT).streaming_content).decode()

    plan = store(admin_user, exported)

    assert (plan.rejected, plan.changes, len(plan.found)) == ([], 0, 2)


def test_a_public_id_renames_a_site(admin_user: User, site: Site) -> None:
    store(admin_user, f"publicId,name,acceptIdentifiers\n{site.public_id},Yeni,yes\n")

    site.refresh_from_db()
    assert (site.name, site.accepts_identifiers) == ("Yeni", True)


def test_the_sender_of_a_site_is_not_changed_by_a_file(admin_user: User, site: Site) -> None:
    plan = store(admin_user, f"publicId,sender\n{site.public_id},api\n")

    assert "on the site's page" in plan.rejected[0].reason


def test_the_customer_id_of_credentials_wins(admin_user: User, site: Site) -> None:
    account = GoogleAdsAccount(customer_id="1234567890", conversion_action="customers/1234567890/conversionActions/1")
    Credentials.objects.store(site, account)

    plan = store(admin_user, f"publicId,customerId\n{site.public_id},999-999-9999\n")

    assert "1234567890" in plan.rejected[0].reason
    assert Site.objects.get().customer_id == "1234567890"


def test_an_admin_changes_only_sites_of_their_own(make_site: Callable[..., Site]) -> None:
    mine, other = make_site(name="Mine"), make_site(name="Other")
    user = make_admin(sites={mine: "admin"})

    by_id = store(user, f"publicId,currency\n{other.public_id},USD\n")
    by_name = store(user, "name,currency\nMine,USD\n")

    assert [each.field for each in by_id.rejected] == ["publicId"]
    assert (by_name.rejected, by_name.changes) == ([], 1)
    assert set(Site.objects.values_list("name", "default_currency")) == {("Mine", "USD"), ("Other", "TRY")}


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_may_neither_import_nor_export(site: Site, make_person: Any, role: str) -> None:
    client = make_person(role=role, sites={site: role})

    assert upload(client, FILE).status_code == 403
    assert client.get(EXPORT).status_code == 403
    assert store(User.objects.get(username="ayse"), FILE).changes == 0


def test_the_page_shows_the_changes_first_and_applies_only_what_it_showed(admin_client: Client) -> None:
    checked = upload(admin_client, FILE)
    assert "2 lines would change something" in checked.text
    assert not Site.objects.exists()
    shown = checked.context["checked"]

    forged = admin_client.post(IMPORT, {"checked": shown[:-1]})
    assert "choose the file again" in forged.text
    assert not Site.objects.exists()

    applied = admin_client.post(IMPORT, {"checked": shown})
    assert "Changed by 2 lines" in applied.text
    assert Site.objects.count() == 2


def test_what_one_admin_was_shown_another_cannot_apply(admin_client: Client, make_person: Any, site: Site) -> None:
    checked = upload(admin_client, FILE).context["checked"]

    other = make_person("fatma", role="admin", sites={site: "admin"}).post(IMPORT, {"checked": checked})
    members = admin_client.post("/admin/ociqueue/site/import-members/", {"checked": checked})

    assert all("choose the file again" in page.text for page in (other, members))
    assert Site.objects.count() == 1


def test_bad_lines_are_corrected_in_a_grid_and_applied_with_the_rest(admin_client: Client) -> None:
    checked = upload(admin_client, FILE.replace("EUR", "XXX").replace("123-456-7890", "12"))
    grid = checked.context["grid"]
    assert [fault[:2] for fault in json.loads(grid["faults_json"])] == [[0, "customerId"], [1, "currency"]]

    def send(page: Any, before: str, after: str) -> Any:
        rows = page.context["grid"]["rows"].replace(before, after)
        return admin_client.post(IMPORT, {"checked": page.context["checked"], "rows": rows})

    again = send(checked, "XXX", "EUR")
    assert [line.split("\t")[0] for line in again.context["grid"]["rows"].splitlines()] == ["2"]
    ready = send(again, "12", "123-456-7890")
    assert "2 lines would change something" in ready.text
    assert not Site.objects.exists(), "what was typed is shown first"
    admin_client.post(IMPORT, {"checked": ready.context["checked"]})

    sites = Site.objects.order_by("name").values_list("name", "customer_id", "default_currency")
    assert list(sites) == [("Deniz", "1234567890", "TRY"), ("Orman", "2345678901", "EUR")]


@pytest.mark.parametrize("text", ["", "\x00\x01", "colour\nred\n", '"name\n', "name,name\na,b\n"])
def test_what_is_no_file_of_sites_is_refused_in_words(admin_client: Client, text: str) -> None:
    page = upload(admin_client, text)

    assert page.status_code == 200
    assert page.context["faults"] or page.context["rejected"]
