"""Request bodies in gzip: read like others, within the same limits."""

import gzip
import io
import json
import zlib
from typing import Any

import pytest
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from kilit.api.errors import ApiError
from kilit.api.parsers import GzipBody
from ociqueue.models import Conversion
from orchestrator.models import Job
from orchestrator.sheets.template import template_csv
from tests.support.conversions import YESTERDAY
from tests.support.cutting_jobs import PHONE

MEGABYTE = 1024**2
JSON = "application/json"


@pytest.fixture
def key(site) -> str:
    return site.issue_key(name="shop")


def post(
    path: str, body: bytes, key: str, *, encoding: str = "gzip", content_type: str = JSON, status: int = 200
) -> Any:
    headers = {"x-api-key": key, "content-encoding": encoding}
    answer = Client().generic("POST", path, body, content_type, headers=headers)
    assert answer.status_code == status, answer.content
    return answer.json()


def conversions(site, number: int) -> bytes:
    sale = {"conversionName": "Sale", "gclid": "Cj0KCQ-x", "conversionTime": YESTERDAY, "conversionValue": 1}
    return json.dumps({"siteId": site.public_id, "conversions": [sale] * number}).encode()


@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip"])
def test_a_body_in_gzip_is_read(site, key, encoding: str) -> None:
    answer = post("/api/oci/conversions", gzip.compress(conversions(site, 300)), key, encoding=encoding)

    assert answer["created"] == Conversion.objects.count() == 300


@pytest.mark.django_db
def test_a_body_said_to_be_as_it_is_is_read(site, key) -> None:
    assert post("/api/oci/conversions", conversions(site, 1), key, encoding="identity")["created"] == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: b"{}", "The body is not gzip, although Content-Encoding says so."),
        (lambda _: zlib.compress(b"{}"), "The body is not gzip, although Content-Encoding says so."),
        (lambda body: body[:-1], "The body ends before its gzip data does."),
        (lambda body: body[: len(body) // 2], "The body ends before its gzip data does."),
        (lambda body: body + b"x", "The body goes on after the end of its gzip data."),
        (lambda body: body + body, "The body goes on after the end of its gzip data."),
        (lambda body: body[:-8] + bytes(4) + body[-4:], "The body is not gzip, although Content-Encoding says so."),
    ],
    ids=["plain", "zlib", "one byte short", "half", "one byte more", "two members", "wrong sum"],
)
def test_a_damaged_body_is_refused_in_our_words(site, key, change, words: str) -> None:
    answer = post("/api/oci/conversions", change(gzip.compress(conversions(site, 3))), key, status=400)

    assert answer["error"] == {"code": "BAD_REQUEST", "message": words}
    assert not Conversion.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "compress"])
def test_another_encoding_is_415(site, key, encoding: str) -> None:
    answer = post("/api/oci/conversions", b"x", key, encoding=encoding, status=415)

    assert answer["error"]["code"] == "UNSUPPORTED_MEDIA_TYPE"
    assert answer["error"]["message"] == f"The content encoding {encoding} is not supported. Send gzip, or none."


@pytest.mark.django_db
def test_a_body_that_is_too_large_when_expanded_is_413(site, key) -> None:
    body = conversions(site, 1)
    fits = gzip.compress(body + b" " * (5 * MEGABYTE - len(body)))
    beyond = gzip.compress(body + b" " * (5 * MEGABYTE - len(body) + 1))

    assert post("/api/oci/conversions", fits, key)["created"] == 1
    answer = post("/api/oci/conversions", beyond, key, status=413)
    assert answer["error"] == {"code": "TOO_LARGE", "message": "The body is larger than 5 MB."}


def test_a_bomb_is_refused_without_being_expanded() -> None:
    stream = io.BytesIO(gzip.compress(bytes(100 * MEGABYTE)))

    with pytest.raises(ApiError, match="larger than 5 MB"):
        GzipBody(stream, limit=5 * MEGABYTE, most=5 * MEGABYTE).read(5 * MEGABYTE + 1)

    assert stream.tell() == 64 * 1024  # of about 100 KB


def test_small_reads_give_the_whole_content() -> None:
    content = bytes(range(256)) * 1000
    body = GzipBody(io.BytesIO(gzip.compress(content)), limit=MEGABYTE, most=MEGABYTE)

    pieces = list(iter(lambda: body.read(777), b""))

    assert b"".join(pieces) == content
    assert {len(piece) for piece in pieces[:-1]} == {777}


@pytest.mark.django_db
def test_a_form_with_a_file_is_read_in_gzip_within_the_same_limit(api) -> None:
    def form(content: bytes) -> bytes:
        file = io.BytesIO(content)
        file.name = "order.csv"
        return gzip.compress(encode_multipart(BOUNDARY, {"file": file, "dry_run": "true", "customer_phone": PHONE}))

    answer = post("/jobs/import", form(template_csv()), api.headers["x-api-key"], content_type=MULTIPART_CONTENT)
    bomb = post(
        "/jobs/import", form(bytes(20 * MEGABYTE)), api.headers["x-api-key"], content_type=MULTIPART_CONTENT, status=413
    )

    assert answer["order"]["order_id"]
    assert bomb["error"]["code"] == "TOO_LARGE"
    assert not Job.objects.exists()
