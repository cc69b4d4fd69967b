"""The load test, against the live server: everything that goes in comes out once, and lies are noticed."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from kilit.access.models import ApiKey
from ociqueue.models import Conversion, Site
from tests.tools.load.command import Command
from tests.tools.load.driver import LoadTest

pytestmark = pytest.mark.django_db(transaction=True)


def run(live_server: Any, *arguments: str) -> str:
    out = StringIO()
    call_command(Command(), "--url", live_server.url, *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_every_row_goes_in_and_out_once(live_server) -> None:
    reported = run(live_server, "--rows", "250", "--batch", "40", "--clients", "3")

    assert "All 250 rows are COMPLETED, each handed out once; the counts are exact." in reported
    assert set(Conversion.objects.values_list("status", "attempt_count")) == {("COMPLETED", 1)}
    assert Conversion.objects.count() == 250
    assert not ApiKey.objects.valid().exists(), "its key ends with it"


def test_another_site_is_used_with_its_own_key(live_server, site: Site, site_key) -> None:
    reported = run(live_server, "--rows", "20", "--batch", "7", "--site", site.public_id, "--key", site_key(site))

    assert "All 20 rows" in reported
    assert Conversion.objects.for_site(site).count() == 20
    assert ApiKey.objects.valid().exists(), "a key that it was given is not its own to end"


def test_a_row_that_is_missing_at_the_end_is_reported(live_server, monkeypatch) -> None:
    monkeypatch.setattr(LoadTest, "drain", lambda _: None)

    with pytest.raises(CommandError, match=r"0 were handed out instead of 5.*The totals say"):
        run(live_server, "--rows", "5")


def test_a_server_that_refuses_is_quoted(live_server, site: Site) -> None:
    with pytest.raises(CommandError, match="POST /api/oci/conversions answered 401"):
        run(live_server, "--rows", "5", "--site", site.public_id, "--key", "kilit_nonsense")


def test_a_site_without_its_key_is_refused(live_server, site: Site) -> None:
    with pytest.raises(CommandError, match="belong together"):
        run(live_server, "--site", site.public_id)
