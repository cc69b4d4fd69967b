"""Invalid and private image addresses fail the document."""

import socket
import threading

import pytest

from pdfjobs.documents import DocumentError, definition, document, images
from tests.support.image_server import Server, answer, refusal


@pytest.mark.parametrize("address", ["http://[::1/logo.png", "https://[x]y/logo.png", "http://a:99999/logo.png"])
def test_an_invalid_address_fails_the_document(settings, address: str) -> None:
    """A list may be as wide as its operator likes."""
    settings.PDF_ASSET_PATTERNS = ["https?://.*"]
    sample = document("invoice").sample
    variables = {**sample, "seller": {**sample["seller"], "logo_url": address}}

    with pytest.raises(DocumentError, match="could not be fetched: no connection"):
        document("invoice").html(variables)


def test_an_invalid_redirect_is_reported(server: Server, as_if_public: None) -> None:
    server.answers["/old.png"] = answer(b"", "302 Found", Location="http://[::1/logo.png")

    assert "redirects to an invalid address" in refusal(server.address("/old.png"))


@pytest.mark.usefixtures("as_if_public")
def test_a_name_that_tls_cannot_send_is_reported(server: Server, settings) -> None:
    settings.PDF_ASSET_PATTERNS = ["https?://.*"]

    assert "no connection" in refusal(server.address(host=".example").replace("http:", "https:"))


def test_a_resolver_that_hangs_is_not_waited_for(settings, monkeypatch) -> None:
    settings.PDF_ASSET_PATTERNS = ["https?://.*"]
    is_over = threading.Event()
    monkeypatch.setattr(images, "TIME_LIMIT", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: is_over.wait(timeout=20) and [])

    try:
        result = refusal("http://logo.example/logo.png")
    finally:
        is_over.set()

    assert "took more than 0.1 s" in result


def test_a_page_too_large_to_render_is_rejected_before_rendering(monkeypatch) -> None:
    """The HTML fallback must not return what a worker would refuse."""
    monkeypatch.setattr(definition, "MOST_HTML", 1000)

    with pytest.raises(DocumentError, match="more than 1,000 bytes of HTML"):
        document("invoice").html(document("invoice").sample)
