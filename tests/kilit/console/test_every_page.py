"""Every page of the console, opened once by who may open all, in Turkish, after outsiders wrote scripts where they can.

How many queries each takes is in tests/query_counts.json, a reviewed file, which
`KILIT_QUERY_COUNTS=write pytest tests/kilit/console/test_every_page.py -k queries` writes.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polib
import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.access.models import DeniedRequest, LoginWindow
from ociqueue.demo import SHOWCASE
from ociqueue.models import Conversion, Site
from orchestrator.models import Customer, Job
from pdfjobs.models import PdfJob
from tests.support.admin_addresses import ANSWERS, Address, addresses, one_of_each
from tests.support.commands import ROOT
from tests.support.cutting_jobs import held
from tests.support.page_texts import read
from tests.support.stored_scripts import EVIL, FILES, RAW, fill_the_rest, outsiders_write

pytestmark = [pytest.mark.django_db, pytest.mark.slow]  # it opens every page of the console

COUNTS = ROOT / "tests" / "query_counts.json"
REVIEWED: dict[str, int] = json.loads(COUNTS.read_text())
IS_WRITTEN = os.environ.get("KILIT_QUERY_COUNTS") == "write"
FEWEST_WORDS = 3  # shorter ones may be a name, or a word of both languages
PLACE = re.compile(r"%\(\w+\)[sd]|%%|</?code>|<a [^>]*>|</a>")
PERMISSIONS = "/admin/auth/"  # Django keeps the names of permissions in the database, in English
ESCAPED = "&lt;img src=x onerror"


@dataclass
class Opened:
    address: Address
    is_shown: bool  # and no refusal, and no button, which only sends
    html: str  # of a file, nothing
    queries: int


@pytest.fixture(scope="module")
def browser(demo: dict[str, Any]) -> Iterator[Client]:
    """A browser of a superuser, in a house that outsiders wrote to."""
    with transaction.atomic():
        client = Client()
        client.force_login(User.objects.create_superuser("admin"))
        client.cookies["django_language"] = "tr"
        site = Site.objects.get(name=SHOWCASE)
        held()
        outsiders_write(site)
        fill_the_rest(site)
        yield client
        transaction.set_rollback(True)


@pytest.fixture(scope="module", params=[1, pytest.param(None, marks=pytest.mark.nightly)], ids=["day", "night"])
def pages(request, browser: Client) -> list[Opened]:
    """Return every page over one row of each kind, and at night over rows in every state."""
    rows = {model: keys[: request.param] for model, keys in one_of_each().items()}
    spoilt = {
        Site: Site.objects.all(),
        Conversion: Conversion.objects.filter(gclid__startswith="xss-"),
        Job: Job.objects.filter(Q(order_id__startswith=EVIL[:10]) | Q(error_message=EVIL)),
        PdfJob: PdfJob.objects.filter(status="failed"),
        Customer: Customer.objects.filter(name=EVIL),
        LoginWindow: LoginWindow.objects.exclude(username=""),
    }
    for model, found in spoilt.items():
        rows[model] = [*dict.fromkeys([*rows[model], *found.values_list("pk", flat=True)])]
    return [opened(browser, address) for address in addresses(rows) if address.name != "logout"]


def opened(client: Client, address: Address) -> Opened:
    for _ in range(4):
        connection.queries_log.clear()  # it keeps so many
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(address.path)
        number = len(captured)
        if number <= REVIEWED.get(address.name, 0 if IS_WRITTEN else number):
            break  # otherwise again: the first also fills what is kept in memory for seconds
    assert answer.status_code in ANSWERS, address
    is_html = not answer.streaming and answer.get("Content-Type", "").startswith("text/html")
    return Opened(address, answer.status_code == 200, answer.content.decode() if is_html else "", number)


def english() -> set[str]:
    """Return every piece of three words and more that stands between the places of an English sentence."""
    entries = polib.pofile(str(ROOT / "locale" / "tr" / "LC_MESSAGES" / "django.po"))
    pairs = {(entry.msgid, entry.msgstr or entry.msgstr_plural[0]) for entry in entries}
    pieces = {piece.strip(" .:;,()") for shown, turkish in pairs if shown != turkish for piece in PLACE.split(shown)}
    return {piece for piece in pieces if len(piece.split()) >= FEWEST_WORDS}


def test_no_page_says_an_english_sentence_that_has_turkish(pages: list[Opened]) -> None:
    leftovers, shown = english(), [page for page in pages if page.is_shown and page.html]
    known: set[str] = set()  # most texts are on many pages
    found = set()

    for page in shown:
        path = page.address.path
        assert '<html lang="tr"' in page.html or "<html" not in page.html, path
        if path.startswith(PERMISSIONS):
            continue
        new = set(read(page.html)) - known
        known |= new
        texts = "\0".join(new)
        found |= {(path, piece) for piece in leftovers if piece in texts}

    assert found == set()
    assert len(shown) > 100


def test_no_page_of_the_console_holds_it_unescaped(pages: list[Opened]) -> None:
    assert [page.address for page in pages if RAW in page.html] == []
    # It was really there to be seen.
    shown = {page.address.model for page in pages if ESCAPED in page.html}
    assert {Conversion, Job, PdfJob, Customer, Site, User, LoginWindow, DeniedRequest} <= shown


def test_no_page_gives_back_unescaped_what_was_sent(browser: Client) -> None:
    for model in admin.site._registry:
        reflected = browser.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/", {"q": EVIL, "e": EVIL})
        assert RAW not in reflected.content.decode(), model
    for name, content in FILES.items():
        form = {"site": Site.objects.get(name=EVIL).pk, "file": SimpleUploadedFile(name, content)}
        answered = browser.post("/admin/ociqueue/conversion/import/", form).content.decode()
        assert RAW not in answered, name
        assert ESCAPED in answered or name == "cell.csv"
    stranger = Client().post("/admin/login/", {"username": EVIL, "password": "y", "next": EVIL})
    for answer in (stranger, browser.get(f"/admin/{EVIL}/"), browser.get("/admin/", {"next": EVIL})):
        assert RAW not in answer.content.decode()


@pytest.mark.parametrize("pages", [1], ids=["day"], indirect=True)
def test_no_page_takes_more_queries_than_were_reviewed(pages: list[Opened]) -> None:
    counts: dict[str, int] = {}
    for page in pages:
        if page.is_shown and page.address.path.endswith("/"):  # others are files
            counts[page.address.name] = max(page.queries, counts.get(page.address.name, 0))

    if IS_WRITTEN:
        COUNTS.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
        return
    assert sorted(counts) == sorted(REVIEWED)
    assert {name: number for name, number in counts.items() if number > REVIEWED[name]} == {}
