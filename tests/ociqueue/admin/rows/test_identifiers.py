"""Hashed e-mail and phone in the console: whether there are any, never the hashes."""

import pytest
from django.conf import settings
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.utils.module_loading import import_string

from config.web.uploads import NamelessFileUploadHandler
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


def test_no_uploaded_file_has_a_name_on_the_disk() -> None:
    handlers = [import_string(name) for name in settings.FILE_UPLOAD_HANDLERS]

    assert handlers == [MemoryFileUploadHandler, NamelessFileUploadHandler]
    handler = NamelessFileUploadHandler()
    handler.new_file("file", "a.csv", "text/csv", None)
    handler.receive_data_chunk(b"abc", 0)
    file = handler.file_complete(3)
    assert (file.name, file.size, file.read()) == ("a.csv", 3, b"abc")
    assert isinstance(handler.file.file.name, int), "a number of an open file, not a path"
    file.close()
