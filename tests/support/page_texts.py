"""The texts of a page that a person reads, or has read aloud."""

from html.parser import HTMLParser
from typing import Any

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
