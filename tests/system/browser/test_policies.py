"""The content security policy in a real browser: the console works under it, and what is injected does not."""

from typing import Any

import pytest

from pdfjobs.models import PdfJob
from tests.support.browsing import NARROW, WIDE, open_page, stopped, watched
from tests.support.pdf_jobs import bring

# What an attacker would inject; each sets `hacked`, or sends the reader elsewhere.
INJECTED = """
<script>window.hacked = "script"</script>
<img src="/static/none.png" onerror="window.hacked = 'handler'">
<iframe srcdoc="<script>parent.hacked = 'frame'</script>"></iframe>
<a id="injected-link" href="javascript:window.hacked='link'">x</a>
<script src="http://127.0.0.1:9/evil.js"></script>
<script src="data:text/javascript,window.hacked='data'"></script>
<base href="http://127.0.0.1:9/">
<style>body { --hacked: style }</style>
<div hx-on:load="hacked = 'htmx'" hx-get="/healthz" hx-trigger="load" hx-vals="js:{x: window.hacked = 'vals'}"></div>
<form id="injected-form" action="http://127.0.0.1:9/"><button>x</button></form>
"""
DIRECTIVES = ("script-src-elem", "script-src-attr", "style-src-elem", "base-uri", "form-action")


@pytest.fixture
def made_pdf(house) -> PdfJob:
    """A job whose page shows its PDF."""
    return bring(PdfJob.objects.filter(status="queued").first(), "succeeded")


@pytest.fixture
def complaints() -> list[str]:
    """What browsers said in their console, for tests that fill it."""
    return []


def test_no_page_of_the_console_breaks_its_own_policy(visitor, house, made_pdf, complaints) -> None:
    """These are not in the list of `test_access`, which looks at the others."""
    page = watched(visitor.enter(width=NARROW), complaints)
    found = stopped(open_page(page, "/admin/login/"))

    page = watched(visitor.enter("demo-owner"), complaints)
    pages = {
        "api": "/api/docs/",
        "missing": "/admin/nothing/",
        "person": "/admin/auth/user/add/",
        "import": f"/admin/ociqueue/site/{house.site.pk}/import/",
        "keys": "/admin/access/apikey/add/",
        "workers": "/admin/workers/",
        "pdf": f"/admin/pdfjobs/pdfjob/{made_pdf.pk}/change/",
        "activity": "/admin/lock/activity/",
    }
    for address in pages.values():
        open_page(page, address)
        page.set_viewport_size({"width": NARROW, "height": 900})
        found += stopped(page)
        page.set_viewport_size({"width": WIDE, "height": 900})

    assert found + complaints == []


def test_what_is_injected_into_a_page_does_nothing(visitor, house) -> None:
    page = watched(visitor.enter("demo-owner"), [])
    visitor.faults.clear()

    def spoil(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("</body>", INJECTED + "</body>"))

    page.route("**/admin/ociqueue/conversion/", spoil)
    open_page(page, "/admin/ociqueue/conversion/")
    page.locator("#injected-link").dispatch_event("click")
    page.locator("#injected-form button").dispatch_event("click")
    for directive in DIRECTIVES:
        page.wait_for_function("directive => window.stopped.some(text => text.startsWith(directive))", arg=directive)
    page.wait_for_timeout(300)  # for what would come of the clicks

    assert page.evaluate("window.hacked") is None
    assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--hacked')") == ""
    assert page.evaluate("document.baseURI").startswith(visitor.url)
    assert page.url.startswith(visitor.url)
    said = " ".join(stopped(page))
    assert all(directive in said for directive in DIRECTIVES), said
