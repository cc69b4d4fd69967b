"""No clear e-mail address or phone number stays in tables, logs, answers, files and messages.

Backups are dumps of the tables, so the search through the tables covers them.
"""

import csv
import io
import json
import logging
import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import Phase, given
from hypothesis import strategies as st

from kilit.api.webhooks import webhook_kinds
from kilit.lock.models import Event
from ociqueue.models import Conversion, Site
from ociqueue.states import SyncMethod
from tests.support.all_columns import columns_with
from tests.support.api import Api
from tests.support.conversions import YESTERDAY
from tests.support.examples import few
from tests.support.fixtures.conversions import make_site, site_key  # noqa: F401 - a site and its key

pytestmark = pytest.mark.django_db

COLUMNS = ("sourceKey", "conversionName", "gclid", "conversionTime", "conversionValue", "conversionCurrency")
DAY = timedelta(days=1)
IMPORT = "admin:ociqueue_conversion_import_csv"
# Names as people confuse them; a file with one of the others is refused as a whole.
RIGHT, WRONG = ("email", "phone", "hashedEmail", "hashedPhone"), ("Email", "e-mail", "emailAddress", "Phone", "tel")
# No words and no round numbers: Hypothesis also tries texts from the source, and pages have those anyway.
USERS = st.text("bcdfgjkqvwxzBCDFGJKQVWXZ", min_size=12, max_size=20)
DIGITS = st.integers(612_345_679, 987_654_319).map(str)
EMAILS = st.builds(
    str.format,
    st.sampled_from(
        ["{}@example.com", " {}+tag@Gmail.com ", "{}@@example.com", "{}.example.com", "ü{}@b.com", "{} x@b.c"]
    ),
    USERS,
)
PHONES = st.builds(str.format, st.sampled_from(["+905{}", "+90 5{}", "05{}", "+90(0)5{}", "5{}", "+90-5{}x"]), DIGITS)


@dataclass
class SentRow:
    """A conversion with identifiers, good or bad, in right or wrong fields."""

    identifiers: dict[str, str]
    gclid: str
    value: str

    def fields(self, number: int) -> dict[str, str]:
        own = (f"key-{number}", "Sale", self.gclid, YESTERDAY, self.value, "TRY")
        return dict(zip(COLUMNS, own, strict=True)) | self.identifiers

    @property
    def secrets(self) -> set[str]:
        """Return the parts that only the clear values have."""
        return {part for text in self.identifiers.values() for part in re.findall(r"[a-zA-Z]{12,}|[0-9]{9,}", text)}


def rows(*names: str) -> Any:
    return st.lists(
        st.builds(
            SentRow,
            st.dictionaries(st.sampled_from(names), EMAILS | PHONES, min_size=1),
            st.sampled_from(["", "Cj0KCQ-x"]),
            st.sampled_from(["5", "-5"]),
        ),
        min_size=1,
        max_size=4,
    )


@dataclass
class Seen:
    """What came out of the product."""

    texts: list[str] = field(default_factory=list)

    def add(self, answer: Any) -> None:
        text = b"".join(answer).decode() if answer.streaming else answer.text
        self.texts.append(text)


def table(rows: list[SentRow], *, damage: str = "") -> bytes:
    found = [row.fields(number) for number, row in enumerate(rows)]
    columns = [*COLUMNS, *sorted({name for row in rows for name in row.identifiers})]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    if damage != "no header":
        writer.writeheader()
    writer.writerows(found)
    return (text.getvalue().replace("\r\n", ",one more\r\n") if damage == "cells" else text.getvalue()).encode()


def send_by_api(seen: Seen, site: Site, key: str, sent: list[SentRow]) -> None:
    body = {"siteId": site.public_id, "conversions": [row.fields(number) for number, row in enumerate(sent)]}
    seen.add(Api(key).post("oci/conversions", body))
    seen.add(Api(key).post("oci/conversions", {**body, "conversions": body["conversions"][0]}))


def send_by_page(seen: Seen, client: Client, site: Site, content: bytes) -> None:
    checked = client.post(reverse(IMPORT), {"site": site.pk, "file": SimpleUploadedFile("a.csv", content)})
    start = "admin:ociqueue_importjob_start"
    is_ready = checked.context["may_start"]
    for answer in (
        checked,
        *([client.post(reverse(start, args=[checked.context["job"].pk]), follow=True)] if is_ready else []),
    ):
        seen.add(answer)
        for report in filter(None, (answer.context.get("rejected"), answer.context.get("differing"))):
            seen.add(client.get(report["address"]))


def send_by_command(seen: Seen, site: Site, path: Any, content: bytes) -> None:
    path.write_bytes(content)
    out = io.StringIO()
    try:
        call_command("oci_import", path, site=site.public_id, stdout=out, stderr=out)
    except CommandError as error:
        seen.texts.append(str(error))
    seen.texts.append(out.getvalue())
    path.unlink()


def look_around(seen: Seen, client: Client, site: Site, key: str) -> None:
    """Fetch what shows conversions, and what is sent about them."""
    Site.objects.filter(pk=site.pk).update(sync_method=SyncMethod.SCRIPT)
    seen.add(Api(key).get("oci/google-ads-export", siteId=site.public_id, markAsExported="true"))
    Conversion.objects.mark_failed()
    Site.objects.filter(pk=site.pk).update(sync_method=SyncMethod.DATA_MANAGER)
    seen.add(client.get("/admin/ociqueue/conversion/"))
    today, now = f"{timezone.localdate()}", timezone.now()
    span = f"from={now - DAY:%Y-%m-%dT%H:%M:%SZ}&to={now + DAY:%Y-%m-%dT%H:%M:%SZ}"
    for file_format in ("csv", "jsonl"):
        form = {"first": today, "last": today, "format": file_format}
        seen.add(client.post("/admin/ociqueue/conversion/history-file/", form))
        seen.add(Api(key).get(f"oci/conversions/export?siteId={site.public_id}&{span}&format={file_format}"))
    names = [{"id": str(row)} for row in Conversion.objects.all()[:10]] or [{"sourceKey": "none"}]
    seen.add(Api(key).post("oci/conversions/lookup", {"siteId": site.public_id, "lookups": names}))
    seen.add(client.get("/admin/ociqueue/conversion/dead-letters/"))
    for row in Conversion.objects.all()[:2]:
        seen.add(client.get(f"/admin/ociqueue/conversion/{row.pk}/change/"))
    for kind in webhook_kinds.values():
        seen.texts.append(str(kind.describe(list(Event.objects.filter(queue=kind.queue)))))


@few(15, phases=[Phase.generate])  # to shrink an example would take minutes
@given(
    sent=rows(*RIGHT) | rows(*RIGHT, *WRONG),
    damage=st.sampled_from(["", "", "cells", "no header"]),
    accepts=st.sampled_from([True, True, True, False]),
)
def test_no_clear_value_comes_out(make_site, site_key, admin_client, caplog, tmp_path, **example: Any) -> None:  # noqa: F811
    sent, seen = example["sent"], Seen()
    site = make_site(accepts_identifiers=example["accepts"], sync_method=SyncMethod.DATA_MANAGER)
    key = site_key(site)
    caplog.set_level(logging.DEBUG)

    send_by_api(seen, site, key, sent)
    send_by_page(seen, admin_client, site, table(sent, damage=example["damage"]))
    send_by_command(seen, site, tmp_path / "conversions.csv", table(sent, damage=example["damage"]))
    look_around(seen, admin_client, site, key)

    secrets = {secret for row in sent for secret in row.secrets}
    logged = [str(vars(record)) + str(record.exc_text or "") for record in caplog.records]
    whole = json.dumps([*seen.texts, *logged], ensure_ascii=False).lower()
    assert [secret for secret in secrets if secret.lower() in whole] == []
    assert columns_with(*secrets) == []


def test_what_is_searched_for_would_be_found(make_site, site_key) -> None:  # noqa: F811
    """The same search finds an address that a site without the option takes as a source key."""
    site, seen = make_site(), Seen()
    body = {**SentRow({}, "Cj0", "5").fields(1), "sourceKey": "abcdefghijklm@example.com"}

    seen.add(Api(site_key(site)).post("oci/conversions", {"siteId": site.public_id, "conversions": [body]}))

    tables = ["public.ociqueue_conversionkey", "public.offline_conversion_queue"]
    assert columns_with("ABCDEFGHIJKLM") == [f"{table}.source_key" for table in tables]
