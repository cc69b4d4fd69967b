"""Hashed e-mail and phone in the console: whether there are any, never the hashes."""

import pytest
from django.conf import settings

from ociqueue.admin.imports import MEGABYTES
from ociqueue.models import Site
from tests.support.dashboard import text_of

pytestmark = pytest.mark.django_db

EMAIL, EMAIL_ADS, PHONE = "a" * 64, "b" * 64, "c" * 64
HASHES = {"hashed_email": EMAIL, "hashed_email_ads": EMAIL_ADS, "hashed_phone": PHONE}
LIST = "/admin/ociqueue/conversion/"


@pytest.mark.parametrize("gclid", ["", "Cj0KCQ-x"])
def test_a_page_says_which_hashes_there_are(admin_client, site, make_conversion, gclid) -> None:
    row = make_conversion(site, gclid=gclid, **HASHES)

    page = text_of(admin_client, f"{LIST}{row.pk}/change/")

    assert "e-mail hash present, phone hash present" in page
    assert ("Click id" in page) == bool(gclid)
    assert not any(stored in admin_client.get(f"{LIST}{row.pk}/change/").text for stored in HASHES.values())


def test_a_page_of_a_row_without_hashes_is_as_before(admin_client, site, make_conversion) -> None:
    row = make_conversion(site)

    assert "E-mail and phone" not in text_of(admin_client, f"{LIST}{row.pk}/change/")


@pytest.mark.parametrize("search", ["", "?q=Cj0", f"?q={EMAIL}"])
def test_the_list_shows_and_finds_no_hash(admin_client, site, make_conversion, search) -> None:
    row = make_conversion(site, gclid="", source_key="order-1", **HASHES)

    page = admin_client.get(f"{LIST}{search}").text

    assert (str(row.pk) in page) == (not search)
    assert not any(stored in page.replace(search, "") for stored in (EMAIL_ADS, PHONE))


def test_the_option_is_in_the_settings_of_a_site(admin_client, site) -> None:
    form = admin_client.get(f"/admin/ociqueue/site/{site.pk}/settings/").context["adminform"].form

    assert "customer data terms" in str(form.fields["accepts_identifiers"].help_text)
    assert Site.objects.get().accepts_identifiers is False


def test_no_file_that_is_accepted_is_written_to_disk() -> None:
    assert settings.FILE_UPLOAD_MAX_MEMORY_SIZE > MEGABYTES * 1024**2
