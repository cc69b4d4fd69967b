"""Remote images: only from allowed, public addresses, and only images."""

import socket
import struct
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfjobs.documents import DocumentError, document, images
from tests.support.examples import a_hundred_times
from tests.support.image_server import Server, answer, refusal
from tests.support.waiting import PATIENCE


def png(width: int = 2, height: int = 1) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" + b"\xff\0\0" * 2)
    return images.PNG + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


SCAN = b"\xff\xda\x00\x04ab" + b"\x01\xff\x00" * 9 + b"\xff\xd9"


def jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xfe\x00\x06abcd"
    return b"\xff\xd8" + comment + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" * 10 + SCAN


@a_hundred_times()
@given(
    path=st.text("abc/.?#", max_size=10),
    patterns=st.lists(st.sampled_from([r"https://cdn\.example/a.*", r"https://x"])),
)
def test_only_addresses_matched_whole_are_allowed(settings, path: str, patterns: list[str]) -> None:
    """Feature: pdf-render-worker, Property 5: Allowlist Doğrulaması. An empty list allows none."""
    settings.PDF_ASSET_PATTERNS = patterns
    expected = r"https://cdn\.example/a.*" in patterns and path.startswith("a")
    assert images.is_allowed(f"https://cdn.example/{path}") is expected
    assert not images.is_allowed(f"https://evil.example/?https://cdn.example/{path}")
    settings.PDF_ASSET_PATTERNS = [r"https://cdn\.example"]
    assert not images.is_allowed(f"https://cdn.example.evil.example/{path}")


@pytest.mark.parametrize(
    "address",
    [
        "https://cdn.example/a\nb",
        "https://cdn.example/a b",
        "https://cdn.example\\@evil.example/a",
        "https://user:pass@cdn.example/a",
        "https://cdn.example/" + "a" * 2000,
        "https://cdn.example/ğ",
        "file:///etc/passwd",
        "data:image/png;base64,AAAA",
        "//cdn.example/a",
        "",
    ],
)
def test_addresses_that_two_parsers_could_read_differently_are_never_allowed(settings, address: str) -> None:
    settings.PDF_ASSET_PATTERNS = [r"(?s).*"]

    assert not images.is_allowed(address)


def test_a_name_that_leads_inside_is_refused_before_a_connection(server: Server, names: list[str]) -> None:
    server.answers["/logo.png"] = answer(png())

    assert "not a public address" in refusal(server.address())
    assert server.asked == []


def test_a_name_that_also_leads_inside_is_refused(server: Server, monkeypatch) -> None:
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, 80)) for number in ("8.8.8.8", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)

    assert "not a public address" in refusal(server.address())


def test_a_good_image_is_put_into_the_page(server: Server, names: list[str], as_if_public: None) -> None:
    server.answers["/logo.png"] = answer(png())
    invoice = document("invoice")
    variables = invoice.sample | {"seller": invoice.sample["seller"] | {"logo_url": server.address()}}

    page = invoice.html(variables)

    assert '<img src="data:image/png;base64,' in page
    assert server.address() not in page
    assert names == ["logo.example"]  # looked up once: the answer that was judged is the one connected to


def test_an_image_that_cannot_be_fetched_fails_the_document(server: Server, as_if_public: None) -> None:
    invoice = document("invoice")
    variables = invoice.sample | {"seller": invoice.sample["seller"] | {"logo_url": server.address("/none.png")}}

    with pytest.raises(DocumentError, match="the status was 404"):
        invoice.html(variables)


def test_redirects_are_followed_within_the_list(server: Server, as_if_public: None) -> None:
    server.answers["/old.png"] = answer(b"", "302 Found", Location="/logo.png")
    server.answers["/logo.png"] = answer(png())

    assert images.data_url(server.address("/old.png")).startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    "target", ["http://evil.example/x.png", "file:///etc/passwd", "//evil.example/x", "http://[::1]/"]
)
def test_redirects_that_leave_the_list_are_refused(server: Server, as_if_public: None, target: str) -> None:
    server.answers["/old.png"] = answer(b"", "302 Found", Location=target)

    assert "which is not allowed" in refusal(server.address("/old.png"))


def test_a_redirect_to_an_inner_address_on_the_list_is_refused(server: Server, names, monkeypatch) -> None:
    judged: list[str] = []
    monkeypatch.setattr(images, "is_public", lambda host: judged.append(host) or len(judged) == 1)
    server.answers["/old.png"] = answer(b"", "302 Found", Location=server.address(host="inner.example"))

    assert "inner.example is not a public address" in refusal(server.address("/old.png"))
    assert server.asked == ["/old.png"]


def test_redirects_in_a_ring_end(server: Server, as_if_public: None) -> None:
    server.answers["/old.png"] = answer(b"", "302 Found", Location="/old.png")

    assert "more than 3 times" in refusal(server.address("/old.png"))
    assert len(server.asked) == 4


def trickle(channel: socket.socket) -> None:
    """Send a byte now and then while the client is connected; a socket's own timeout never fires."""
    for _ in range(200):
        channel.sendall(b"X")
        time.sleep(0.05)
    heard_out.append(channel)


heard_out: list[socket.socket] = []


def trickle_body(channel: socket.socket) -> None:
    channel.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    trickle(channel)


def pour(channel: socket.socket) -> None:
    channel.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(200):
        channel.sendall(b"x" * 65536)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (answer(b"<svg xmlns='http://www.w3.org/2000/svg'/>", Type="image/svg+xml"), "neither a PNG nor a JPEG"),
        (answer(b"<html>"), "neither a PNG nor a JPEG"),
        (answer(b""), "neither a PNG nor a JPEG"),
        (answer(png(30000, 30000)), "30000 x 30000 pixels"),
        (answer(jpeg(7000, 10)), "7000 x 10 pixels"),
        (answer(b"\xff\xd8\xff"), "0 x 0 pixels"),
        (answer(png()[:-1]), "is damaged"),
        (answer(png().replace(b"IDAT", b"IDAX")), "is damaged"),
        (answer(jpeg(30, 20)[:-1]), "is damaged"),
        (answer(jpeg(30, 20)[: -len(SCAN)]), "is damaged"),
        (answer(png(), length=10_000), "was interrupted"),
        (answer(b"x" * 2_000_000), "more than 1,048,576 bytes"),
        (pour, "more than 1,048,576 bytes"),
        (trickle, "took more than"),
        (trickle_body, "took more than"),
        (b"nonsense\r\n\r\n", "was interrupted"),
        (b"", "was interrupted"),
        (answer(b"", "500 Oops"), "the status was 500"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_small_image_in_time_is_refused(server, as_if_public, monkeypatch, sent, words) -> None:
    monkeypatch.setattr(images, "TIME_LIMIT", 1.0 if words == "took more than" else PATIENCE)
    heard_out.clear()
    server.answers["/logo.png"] = sent

    assert words in refusal(server.address())
    assert heard_out == []  # the client did not wait for its end


def test_a_jpeg_is_an_image_too() -> None:
    assert images.kind_and_size(jpeg(300, 200)) == ("jpeg", 300, 200)
    assert images.is_whole(jpeg(300, 200) + b"what a camera adds")


def test_a_server_without_a_valid_certificate_is_refused(server: Server, as_if_public: None, settings) -> None:
    settings.PDF_ASSET_PATTERNS = [r"https://.*"]
    server.answers["/logo.png"] = answer(png())

    assert "was interrupted" in refusal(server.address().replace("http:", "https:"))
