"""A page is kept for its owner's next document, and nothing of the last one remains."""

import asyncio
import base64
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pdfjobs import documents, rendering
from pdfjobs.rendering import RenderError, browser_manager, isolated_page, renderer
from pdfjobs.rendering.fonts import font_files
from tests.support.rendering import MADE_AT, PAGE, when_printing
from tests.support.waiting import PATIENCE, wait_until

TEMPLATES = ("invoice", "offer", "delivery_note", "cutting_sheet", "labels", "conversion_report")
DOT = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9'/></svg>"
)
FONT = base64.b64encode(font_files()[0].read_bytes()).decode()
# Each leaves something behind that a careless page would show under the next document.
LEAVING = {
    "a title": "<title>Gizli</title><p>x</p>",
    "a style": "<style>* { color: red !important; font-size: 40px } @page { margin: 90mm }</style><p>x</p>",
    "a language": '<html lang="tr" dir="rtl"><body dir="rtl"><p>i</p>',
    "a declared language": '<meta http-equiv="content-language" content="ar"><p>i</p>',
    "a base": '<base href="https://example.com/"><p>x</p>',
    "a property": "<style>@property --a { syntax: '<length>'; inherits: true; initial-value: 40px }"
    " @counter-style decimal { system: cyclic; symbols: Q } @layer b, a; p { font-size: var(--a) }</style><p>x</p>",
    "quirks": "</p><!doctype html public '-//w3c//dtd html 3.2//en'><table><tr><td>x</table>",
    "a font": f"<style>@font-face {{ font-family: Inter; src: url(data:font/ttf;base64,{FONT}) }}</style><p>x</p>",
    "a counter": "<style>body { counter-reset: page 7 } @page { size: A6 landscape }</style><p>x</p>",
    "an image": f'<img src="{DOT}"><p style="background: url({DOT})">x</p>',
    "many pages": '<p style="break-after: page">x</p>' * 30,
    "fixed": '<p style="position: fixed; top: 0">Gizli</p>',
    "a frame": '<iframe srcdoc="Gizli"></iframe><object data="data:text/html,Gizli"></object>',
    "a refresh": '<meta http-equiv="refresh" content="0;url=data:text/html,Gizli"><p>x</p>',
    "a late refresh": '<meta http-equiv="refresh" content="1;url=data:text/html,Gizli"><p>x</p>',
    "a request": '<img src="http://127.0.0.1:9/x">',
    "a dialog": "<dialog open>Gizli</dialog><details open><summary>x</summary>Gizli</details><input autofocus>",
    "a scheme": '<META name="color-scheme" content="dark"><p>x</p>',
    "a viewport": '<meta\nname="viewport" content="width=2000"><p>x</p>',
    "a style by name": '<meta http-equiv="default-style" content="a"><style title="a">p { color: red }</style><p>x</p>',
}


@pytest.fixture
def print_for() -> Callable[..., bytes]:
    """Render for an owner, as a worker does."""

    def run(owner: int | None, html: str = PAGE, *, seconds: float = PATIENCE, **options: Any) -> bytes:
        limit, read = timedelta(seconds=seconds), rendering.PageOptions.read(options)
        return rendering.render([html], read, made_at=MADE_AT, hard_timeout=limit, owner=owner)

    return run


def kept() -> dict[Any, isolated_page.IsolatedPage]:
    """Return the pages that are kept."""
    assert renderer._renderer
    return dict(renderer._renderer.browser_manager._pages)


def shown(page: isolated_page.IsolatedPage) -> str:
    assert renderer._renderer
    return asyncio.run_coroutine_threadsafe(page.page.content(), renderer._renderer.loop).result(PATIENCE)


def pages_of(owners: list[int], print_for: Callable[..., bytes]) -> list[isolated_page.IsolatedPage]:
    """Return the page that each print was kept on."""
    found = []
    for owner in owners:
        print_for(owner)
        found.append(kept()[owner])
    return found


def test_an_owners_documents_follow_each_other_on_a_page_of_their_own(print_for) -> None:
    ayse, mehmet, again, other = pages_of([21, 22, 21, 22], print_for)

    assert (ayse is again, mehmet is other) == (True, True)
    assert ayse.page.context is not mehmet.page.context


def test_a_document_without_an_owner_keeps_no_page(print_for) -> None:
    print_for(None)

    assert None not in kept()


@pytest.mark.parametrize("left", LEAVING)
@pytest.mark.by_day(3)
def test_nothing_of_a_document_is_under_the_next(print_for, left: str) -> None:
    """The same bytes as on a new page, and on one that was emptied when idle."""
    plain = "<p>düz</p>"  # says nothing about itself, so that anything left would be seen
    expected, report = print_for(None, plain), print_for(None)

    print_for(7, LEAVING[left])

    assert print_for(7, plain) == expected
    time.sleep(1.2 if "late" in left else 0)
    assert (print_for(7, plain), print_for(7)) == (expected, report)


def test_every_document_is_the_same_on_a_used_page(print_for) -> None:
    samples = [documents.document(name) for name in TEMPLATES]
    pages = [sample.html(sample.sample) for sample in samples]
    fresh = [print_for(None, page) for page in pages]

    assert [print_for(3, page) for page in [*pages, *reversed(pages)]] == [*fresh, *reversed(fresh)]


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.by_day(3)
def test_a_tagged_document_is_the_same_after_any_other(print_for, name: str) -> None:
    """A page continues numbering the structure from one document to the next."""
    sample = documents.document(name)
    page = sample.html(sample.sample)
    expected = print_for(None, page, tagged=True)

    twice = [print_for(10, page, tagged=True) for _ in range(2)]
    print_for(10)
    after = print_for(10, page, tagged=True)

    assert (*twice, after) == (expected,) * 3
    assert print_for(10, page) == print_for(None, page)


def test_a_page_that_rests_is_emptied(print_for) -> None:
    print_for(4, "<title>Gizli</title><p>Gizli</p>")

    page = kept()[4]

    wait_until(lambda: "Gizli" not in shown(page))
    assert kept()[4] is page


@pytest.mark.parametrize("left", ["a refresh", "a request", "a scheme", "a viewport"])
def test_a_page_on_which_something_may_stay_is_not_used_again(print_for, left: str) -> None:
    print_for(5, "<p>x</p>")
    before = kept()[5]
    print_for(5, LEAVING[left])

    print_for(5, "<p>x</p>")

    assert kept()[5] is not before


def test_a_page_led_away_under_a_document_is_not_believed(print_for, monkeypatch) -> None:
    """What a used page prints while it navigates is discarded; a new one prints it again."""
    expected = print_for(None)
    print_for(6)
    used = kept()[6]
    prints = isolated_page.IsolatedPage.print

    async def led_away(self: isolated_page.IsolatedPage, *page: Any) -> bytes:
        pdf = await prints(self, *page)
        if self is used:
            self._taint()
            return b"%PDF of another document"
        return pdf

    monkeypatch.setattr(isolated_page.IsolatedPage, "print", led_away)

    assert print_for(6) == expected
    assert used.page.is_closed() or used is not kept().get(6)


def test_a_page_is_used_up_after_its_share(print_for, monkeypatch) -> None:
    monkeypatch.setattr(isolated_page, "MAX_PRINTS", 3)
    rendering.close()
    contexts = []
    for _ in range(7):
        print_for(1)
        contexts.append(kept().get(1))

    assert [one is None for one in contexts] == [False, False, True, False, False, True, False]
    assert contexts[0] is contexts[1]
    assert contexts[1] is not contexts[3]


def test_pages_of_the_owners_who_came_last_are_kept(print_for) -> None:
    rendering.close()

    pages = pages_of(list(range(browser_manager.MAX_KEPT_PAGES + 2)), print_for)
    pages_of([browser_manager.MAX_KEPT_PAGES], print_for)  # comes again, and with that the oldest has left by now

    assert len(kept()) <= browser_manager.MAX_KEPT_PAGES
    assert not {0, 1} & set(kept())
    wait_until(pages[0].page.is_closed)


def test_a_page_on_which_something_failed_is_not_used_again(print_for, browser) -> None:
    print_for(8)
    before = kept()[8]
    rendering_options = rendering.PageOptions.read({"pages": "7"})

    with pytest.raises(RenderError):
        rendering.render([PAGE], rendering_options, made_at=MADE_AT, hard_timeout=timedelta(seconds=PATIENCE), owner=8)
    print_for(8)

    assert kept()[8] is not before


def test_a_page_whose_browser_died_is_forgotten(print_for, browser) -> None:
    expected = print_for(9)
    with when_printing(browser.kill), pytest.raises(RenderError):
        print_for(9)

    assert print_for(9) == expected
