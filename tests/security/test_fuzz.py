"""Garbage at the doors that have no property test of their own: files of conversions, cursors, the Ads Script."""

import base64
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kilit.api.cursor import decode_cursor
from kilit.csv.text import CsvError
from ociqueue.files.conversions import ImportTally
from ociqueue.models import Conversion, Site
from tests.support.api import Api
from tests.support.conversions import YESTERDAY
from tests.support.examples import few
from tests.support.fixtures.conversions import make_site, site  # noqa: F401 - a site and people
from tests.support.garbage import answer, damaged
from tests.support.imports import import_file

GOOD = (
    "conversionName,gclid,wbraid,conversionTime,conversionValue,conversionCurrency,sourceKey\r\n"
    f"Satış,Cj0KCQ-a,,{YESTERDAY},99.90,TRY,order-1\r\n"
    f'"Satış, büyük",,CkQKC-b,{YESTERDAY.replace("Z", "+03:00")},5,TRY,\r\n'
).encode()
CELLS = st.sampled_from(["", '"', "NaN", "1e999", "-1", "=1+1", "\x00", "2026-13-40", "🙈", "a" * 600]) | st.text(
    max_size=9
)
SEPARATORS = st.sampled_from([",", ";", "\t"])


@st.composite
def tables(draw: Any) -> bytes:
    """Return a file with a good header and cells of any kind below it."""
    lines = draw(st.lists(st.lists(CELLS, max_size=9), max_size=5))
    separator = draw(SEPARATORS)
    header = GOOD.splitlines()[0].decode().replace(",", separator)
    return "\n".join([header, *(separator.join(cells) for cells in lines)]).encode("utf-8", "surrogatepass")


@pytest.mark.django_db
@example(content=b'conversionName,"gclid\n', dry_run=True)  # a quote that is never closed
@given(content=damaged(GOOD) | tables() | st.binary(max_size=300), dry_run=st.booleans())
def test_every_file_is_imported_or_rejected_with_a_message(site: Site, content: bytes, dry_run: bool) -> None:  # noqa: F811
    before, tally, refusal = Conversion.objects.count(), ImportTally(), None

    try:
        tally = import_file(site, content, dry_run=dry_run)
    except CsvError as reason:
        refusal = str(reason)
    assert refusal != ""

    assert tally.lines == tally.created + tally.duplicates + tally.rejected_lines
    assert all(refused.reason for refused in tally.rejected)
    assert Conversion.objects.count() == before + (0 if dry_run else tally.created)


@given(text=st.text(max_size=64) | st.binary(max_size=20).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_every_cursor_is_an_id_or_rejected_with_a_message(text: str) -> None:
    found = answer(decode_cursor, text, refusal=ValueError)

    assert isinstance(found, UUID) or str(found) == "This is not a valid cursor."


@pytest.mark.django_db
@few(40)
@given(cursor=st.text(max_size=80), limit=st.integers() | st.text(max_size=5), status=st.text(max_size=12))
def test_no_cursor_limit_or_state_causes_a_server_error(world: Api, cursor: str, limit: Any, status: str) -> None:
    asked = {"cursor": cursor, "limit": limit, "status": status}

    response = world.get("oci/queue-rows", siteId=world.site.public_id, **asked)  # type: ignore[attr-defined]

    assert response.status_code in (200, 400), response.content


@pytest.fixture
def world(site, make_person) -> Api:  # noqa: F811
    api = Api(client=make_person(sites={site: "viewer"}))
    api.site = site  # type: ignore[attr-defined]
    return api
