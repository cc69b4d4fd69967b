"""Icons are pictures: a screen reader hears the names of buttons and links, never "chevron_right"."""

from html.parser import HTMLParser
from typing import Any

import pytest

from kilit.console.icons import hide_icons
from tests.support.dashboard import make_conversions, make_site

pytestmark = pytest.mark.django_db

EMPTY = {"input", "img", "br", "hr", "meta", "link", "wbr", "source", "area", "col", "embed"}


class Reader(HTMLParser):
    """Finds icons that are read aloud, and links and buttons without a name."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, Any]]] = []
        self.aloud: list[str] = []
        self.nameless: list[str] = []
        self.names: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in EMPTY:
            return
        self.open.append((tag, found))
        if "material-symbols-outlined" in (found.get("class") or "").split() and not self.is_hidden():
            self.aloud += [] if "aria-label" in found else [str(self.get_starttag_text())]
        if tag in ("a", "button"):
            self.names.append([found.get("aria-label") or found.get("title") or found.get("x-bind:aria-label") or ""])

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            closed, attributes = self.open.pop()
            if closed in ("a", "button") and not "".join(self.names.pop()).strip() and not self.is_hidden():
                self.nameless.append(str(attributes))
            if closed == tag:
                return

    def handle_data(self, text: str) -> None:
        if self.names and not self.is_hidden():
            self.names[-1].append(text)

    def is_hidden(self) -> bool:
        """Parts of an image are not read; the image has a name."""
        return any(found.get("aria-hidden") == "true" or found.get("role") == "img" for _tag, found in self.open)


def test_no_icon_is_read_aloud_and_every_button_has_a_name(admin_client) -> None:
    site = make_site("Ege")
    make_conversions(site, badly=1, waiting=1)
    row = site.conversions.first()
    pages = [
        "/admin/",
        "/admin/workers/",
        "/admin/preferences/",
        "/admin/auth/user/?o=1",
        "/admin/auth/user/add/",
        "/admin/access/apikey/add/",
        "/admin/ociqueue/conversion/",
        "/admin/ociqueue/conversion/import/",
        f"/admin/ociqueue/conversion/{row.pk}/change/",
        f"/admin/ociqueue/site/{site.pk}/change/",
        "/admin/ociqueue/site/add/",
        "/admin/orchestrator/job/",
        "/admin/orchestrator/customer/add/",
        "/admin/login/",
    ]

    faults: list[Any] = []
    for address in pages:
        reader = Reader()
        reader.feed(admin_client.get(address, follow=True).text)
        faults += [(address, *fault) for fault in (reader.aloud, reader.nameless) if fault]
    assert faults == []


@pytest.mark.parametrize(
    ("source", "served"),
    [
        ('<span class="material-symbols-outlined">add</span>', 'outlined" aria-hidden="true">'),
        ('<span\n  class="x material-symbols-outlined"\n>add</span>', 'outlined"\n aria-hidden="true">'),
        ('<span class="material-symbols-outlined" title="Help">help</span>', 'title="Help" role="img">'),
        ('<i aria-hidden="true" class="material-symbols-outlined">', '<i aria-hidden="true" class="material'),
    ],
)
def test_icons_are_hidden_in_the_source_of_templates(source, served) -> None:
    assert served in hide_icons(source)
    assert hide_icons(hide_icons(source)) == hide_icons(source)
