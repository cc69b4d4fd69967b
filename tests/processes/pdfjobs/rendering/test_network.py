"""No page reaches the network, whatever it tries; without isolation each of these tries would."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import BytesIO

import pytest
from playwright.async_api import Route
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

from pdfjobs import documents, rendering
from pdfjobs.rendering import RenderError, chromium, isolated_page, options
from pdfjobs.rendering.chromium import browser_path
from tests.support.listener import Listener
from tests.support.rendering import MADE_AT
from tests.support.waiting import PATIENCE, wait_until

# Each try names itself in the address, so that a hit tells which one it was.
TRIES = {
    "img": '<img src="{url}">',
    "srcset": '<img srcset="{url} 1x">',
    "picture": '<picture><source srcset="{url}"><img></picture>',
    "input-image": '<input type="image" src="{url}">',
    "body-background": '<table background="{url}"><tr><td>x</td></tr></table>',
    "css-url": "<style>.a {{ background: url({url}) }}</style><p class=a>x</p>",
    "css-inline": '<p style="background: url({url})">x</p>',
    "css-list": '<ul style="list-style-image: url({url})"><li>x</ul>',
    "css-content": "<style>.b::before {{ content: url({url}) }}</style><p class=b>x</p>",
    "css-cursor": '<p style="border-image: url({url}) 1">x</p>',
    "css-mask": '<p style="mask-image: url({url})">x</p>',
    "css-import": "<style>@import url({url});</style>",
    "css-font": "<style>@font-face {{ font-family: f; src: url({url}) }}</style><p style='font-family: f'>x</p>",
    "link-stylesheet": '<link rel="stylesheet" href="{url}">',
    "link-preload": '<link rel="preload" as="image" href="{url}">',
    "link-modulepreload": '<link rel="modulepreload" href="{url}">',
    "link-prefetch": '<link rel="prefetch" href="{url}">',
    "link-preconnect": '<link rel="preconnect" href="{url}">',
    "link-dns": '<link rel="dns-prefetch" href="{url}">',
    "link-icon": '<link rel="icon" href="{url}">',
    "link-manifest": '<link rel="manifest" href="{url}">',
    "iframe": '<iframe src="{url}"></iframe>',
    "iframe-srcdoc": "<iframe srcdoc=\"<img src='{url}'>\"></iframe>",
    "iframe-data": "<iframe src=\"data:text/html,<img src='{url}'>\"></iframe>",
    "object": '<object data="{url}"></object>',
    "embed": '<embed src="{url}">',
    "frame-meta": '<iframe srcdoc=\'<meta http-equiv="refresh" content="0;url={url}">\'></iframe>',
    "svg-image": '<svg><image href="{url}" width="9" height="9"/></svg>',
    "svg-use": '<svg><use href="{url}#a"/></svg>',
    "svg-foreign": '<svg><foreignObject width="9" height="9"><img src="{url}"/></foreignObject></svg>',
    "svg-filter": '<svg><filter id="f"><feImage href="{url}"/></filter><rect filter="url(#f)"/></svg>',
    "svg-data": "<img src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><image href='{url}'/></svg>\">",
    "video": '<video src="{url}" autoplay></video>',
    "video-poster": '<video poster="{url}"></video>',
    "audio": '<audio src="{url}" autoplay></audio>',
    "track": '<video><track default src="{url}"></video>',
    "ping": '<a ping="{url}" href="#">x</a>',
    "script-src": '<script src="{url}"></script>',
    "fetch": "<script>fetch('{url}', {{mode: 'no-cors'}})</script>",
    "beacon": "<script>navigator.sendBeacon('{url}')</script>",
    "websocket": "<script>new WebSocket('{url}'.replace('http', 'ws'))</script>",
    "eventsource": "<script>new EventSource('{url}')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([`fetch('{url}', {{mode: 'no-cors'}})`])))</script>",
    "handler": "<img src=x onerror=\"fetch('{url}', {{mode: 'no-cors'}})\">",
    "svg-onload": "<svg onload=\"fetch('{url}', {{mode: 'no-cors'}})\"></svg>",
}
ALONE = {  # these navigate the whole page away, so each is tried separately
    "refresh": '<meta http-equiv="refresh" content="0;url={url}">',
    "refresh-data": '<meta http-equiv="refresh" content="0;url=data:text/html,<img src={url}>">',
    "base": '<base href="{url}/"><img src="relative.png">',
    "form": '<form action="{url}"><button id="send">x</button></form><script>document.forms[0].submit()</script>',
    "open": "<script>window.open('{url}')</script>",
    "location": "<script>location = '{url}'</script>",
}
# Tries that show no request even without a guard, because Chromium itself gives up on them or only connects; kept in
# case a version changes its mind.
NEVER = {
    "link-dns",
    "link-icon",
    "link-manifest",
    "link-preconnect",
    "ping",
    "refresh-data",
    "svg-data",
    "svg-use",
    "track",
}


def pages(listener: Listener) -> list[str]:
    return [
        f"<body>{listener.page(TRIES)}{listener.stun()}</body>",
        *(f"<head>{listener.page({name: markup})}</head><body>x</body>" for name, markup in ALONE.items()),
    ]


def test_nothing_that_a_page_tries_reaches_the_network(to_pdf: Callable[..., bytes], listener: Listener) -> None:
    for page in pages(listener):
        assert to_pdf(page).startswith(b"%PDF")

    assert (listener.hits, listener.connections, listener.datagrams) == (set(), 0, 0)


# Each bar alone, with scripts off as always, and what it lets through.
BARS = {
    "offline": set(),
    "route": {"link-prefetch"},
    "names": set(),
    "policy": {"refresh"},
    "none": {"img", "css-url", "css-font", "iframe", "object", "svg-image", "link-stylesheet", "refresh", "base"},
}


@pytest.mark.parametrize("kept", BARS)
@pytest.mark.by_day(2)
def test_each_bar_stops_what_it_should(
    kept: str, to_pdf: Callable[..., bytes], listener: Listener, monkeypatch
) -> None:
    """Each measure is tested alone: together they would hide a broken one."""
    rendering.close()
    with monkeypatch.context() as patch:
        if kept != "offline":
            patch.setattr(isolated_page, "CONTEXT_OPTIONS", isolated_page.CONTEXT_OPTIONS | {"offline": False})
        if kept != "route":
            patch.setattr(isolated_page, "_abort", let_through)
        if kept != "names":
            patch.setattr(chromium, "FLAGS", [flag for flag in chromium.FLAGS if "resolver" not in flag])
        if kept != "policy":
            patch.setattr(options, "POLICY", "")
        visit(listener, to_pdf)
        if kept == "none":  # a page is thrown away when it is printed, be all that it asks for on its way or not
            wait_until(lambda: listener.heard(BARS["none"]) or visit(listener, to_pdf))
        rendering.close()

    if kept == "none":
        assert listener.hits >= BARS["none"]
    else:
        assert listener.hits <= BARS[kept]
    assert listener.datagrams == 0  # no script, no STUN


def visit(listener: Listener, to_pdf: Callable[..., bytes]) -> None:
    for page in pages(listener):
        with contextlib.suppress(RenderError):  # a page that leads itself away cannot be printed
            to_pdf(page, seconds=20)


async def let_through(route: Route) -> None:
    await route.continue_()


def test_scripts_are_off_and_styles_of_others_too(to_reader: Callable[..., PdfReader]) -> None:
    page = (
        "<noscript>no script</noscript><p class=a>visible</p>"
        '<link rel="stylesheet" href="data:text/css,.a{display:none}">'
        '<style>@import "data:text/css,p{display:none}";</style>'
        '<iframe src="data:text/html,framed"></iframe>'
    )

    text = to_reader(page).pages[0].extract_text()

    assert "no script" in text
    assert "visible" in text
    assert "framed" not in text


def test_without_the_guard_the_same_pages_reach_it(listener: Listener) -> None:
    """Proves that the listener works and that the tries are real."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox"], timeout=PATIENCE * 1000
        )
        for page, tries in zip(pages(listener), [{*TRIES, "stun"}, *({name} for name in ALONE)], strict=True):
            tab = browser.new_page()
            tab.set_content(page, wait_until="commit", timeout=PATIENCE * 1000)
            wait_until(partial(listener.heard, tries - NEVER), every=0.05)
            tab.close()
        browser.close()

    assert (set(TRIES) | set(ALONE)) - listener.hits - NEVER == set()
    assert listener.datagrams > 0


def test_no_file_of_the_machine_gets_into_a_page(to_reader: Callable[..., PdfReader], tmp_path) -> None:
    secret = tmp_path / "secret.html"
    secret.write_text("gizli")
    tries = (
        f'<iframe src="file://{secret}"></iframe><object data="file://{secret}"></object><embed src="file://{secret}">'
    )

    assert "gizli" not in to_reader(f"<p>x</p>{tries}").pages[0].extract_text()


def test_variables_and_headers_that_try_are_shown_as_text(listener: Listener) -> None:
    """Nothing a caller sends becomes markup."""
    tries = f"{listener.page({'img': TRIES['img'], 'beacon': TRIES['beacon'], 'css-url': TRIES['css-url']})}"
    invoice = documents.document("invoice")
    variables = invoice.sample | {"notes": tries + "{{ number }}{% now 'Y' %}&lt;b&gt;", "order_number": "<script>"}
    variables["buyer"] = variables["buyer"] | {"name": TRIES["img"].format(url=f"http://127.0.0.1:{listener.port}/img")}
    header = {"left": f'<img src="http://127.0.0.1:{listener.port}/h">', "right": "</style><script>"}

    pdf = rendering.render(
        invoice.pages(variables),
        rendering.PageOptions.read({"header": header}),
        made_at=MADE_AT,
        hard_timeout=timedelta(seconds=PATIENCE),
    )

    text = " ".join(page.extract_text() for page in PdfReader(BytesIO(pdf)).pages)
    assert (listener.hits, listener.connections) == (set(), 0)
    for shown in ("<script>", "{{ number }}{% now 'Y' %}&lt;b&gt;", '<img src="http', "sendBeacon", "</style><script>"):
        assert shown in text.replace("\n", " ")
