"""The console as somebody reads it who chose Turkish: no page falls back into English."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import polib
import pytest
from django.test import Client

from kilit.access.models import DenialCode, DeniedRequest
from ociqueue.models import Conversion, Site
from tests.support.admin_addresses import ANSWERS, addresses, one_of_each
from tests.support.commands import ROOT

READ_ALOUD = ("title", "aria-label", "placeholder", "data-label", "alt")
UNREAD = ("script", "style", "pre", "template")
# Void elements have no end, so they open nothing.
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Reader(HTMLParser):
    """Collects texts; what is stored or meant for machines is passed over."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.texts: list[str] = []

    @property
    def is_unread(self) -> bool:
        return any(unread for _, unread in self.open)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = dict(attributes)
        unread = tag in UNREAD or "data-stored" in values or values.get("id") == "timeline"
        if not self.is_unread and not unread:
            self.texts += [values[name] for name in READ_ALOUD if values.get(name)]
        if tag not in VOID:
            self.open.append((tag, unread))

    def handle_endtag(self, tag: str) -> None:
        while self.open and tag in {name for name, _ in self.open}:
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if not self.is_unread and data.strip():
            self.texts.append(data)


def read(page: str) -> list[str]:
    """Return the texts of a page, each with its spaces made single."""
    reader = Reader()
    reader.feed(page)
    return [" ".join(text.split()) for text in reader.texts]


pytestmark = pytest.mark.django_db

FEWEST_WORDS = 3  # shorter ones may be a name, or a word of both languages
PLACE = re.compile(r"%\(\w+\)[sd]|%%|</?code>|<a [^>]*>|</a>")
PERMISSIONS = "/admin/auth/"  # Django keeps the names of permissions in the database, in English


def english() -> set[str]:
    """Return every piece of three words and more that stands between the places of an English sentence."""
    entries = polib.pofile(str(ROOT / "locale" / "tr" / "LC_MESSAGES" / "django.po"))
    pairs = {(entry.msgid, entry.msgstr or entry.msgstr_plural[0]) for entry in entries}
    pieces = {piece.strip(" .:;,()") for shown, turkish in pairs if shown != turkish for piece in PLACE.split(shown)}
    return {piece for piece in pieces if len(piece.split()) >= FEWEST_WORDS}


def turkish(client: Client) -> Client:
    client.cookies["django_language"] = "tr"
    return client


@pytest.fixture(params=[1, pytest.param(None, marks=pytest.mark.nightly)], ids=["some", "all"])
def pages(request, demo, client_of) -> Iterator[tuple[str, str]]:
    """Return every page that an owner can open, over one row of each kind; at night over rows in every state."""
    DeniedRequest.objects.record(actor="viewer:ayse", method="GET", path="/admin/x/", code=DenialCode.FORBIDDEN)
    rows = {model: keys[: request.param] for model, keys in one_of_each().items()}
    rows[Site] = list(Site.objects.values_list("pk", flat=True))
    client = turkish(client_of("owner"))

    def opened() -> Iterator[tuple[str, str]]:
        for page in addresses(rows):
            if page.name == "logout":
                continue
            answer = client.get(page.path)
            assert answer.status_code in ANSWERS, page
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                yield page.path, answer.content.decode()

    return opened()


@pytest.mark.slow  # it opens every page of the console
def test_no_page_says_an_english_sentence_that_has_turkish(pages) -> None:
    leftovers, seen = english(), 0
    known: set[str] = set()  # most texts are on many pages
    found = set()

    for path, page in pages:
        seen += 1
        assert '<html lang="tr"' in page or "<html" not in page, path
        if path.startswith(PERMISSIONS):
            continue
        new = set(read(page)) - known
        known |= new
        texts = "\0".join(new)
        found |= {(path, piece) for piece in leftovers if piece in texts}

    assert found == set()
    assert seen > 100


def test_an_action_asks_and_reports_in_turkish(client_of, showcase) -> None:
    failed = showcase.conversions.filter(status="FAILED").first()
    ended = showcase.conversions.filter(status="COMPLETED").first()
    client = turkish(client_of("operator"))
    ids = [str(failed.pk), str(ended.pk)]

    asked = client.post("/admin/ociqueue/conversion/", {"action": "retry", "_selected_action": ids})
    done = client.post(
        "/admin/ociqueue/conversion/act/retry_selected/", {"ids": ",".join(ids), "reason": "Hesap düzeldi"}, follow=True
    )

    shown = " ".join(read(asked.content.decode()))
    assert "Yeniden dene: 1 dönüşüm?" in shown
    assert "Yeniden dene: seçilen 2 satırdan 1 tanesi." in shown
    assert "Değişmeyecek: 1 (Gönderildi)." in shown
    assert "Yeniden denendi: 1 / 2; değişmedi: 1 (Gönderildi)." in " ".join(read(done.content.decode()))
    assert Conversion.objects.get(pk=failed.pk).status == "QUEUED"


def test_machines_are_answered_in_english(client_of, showcase) -> None:
    client = turkish(client_of("operator"))

    lost = client.get("/api/nowhere", headers={"accept-language": "tr"})
    page = client.get("/admin/nowhere/at/all/", headers={"accept-language": "tr"})

    assert lost.json()["error"]["message"] == "There is nothing at /api/nowhere."
    assert "Bu adreste bir şey yok: /admin/nowhere/at/all/" in page.content.decode()
