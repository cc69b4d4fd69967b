"""The server: uploads, queries and the login, each as scripted; it records requests and applied conversions.

It has a self-signed certificate that the real client accepts, and a proxy that can drop connections in a call.
"""

import os
import re
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from google.ads.googleads.v26.services.types.conversion_adjustment_upload_service import (
    UploadConversionAdjustmentsRequest,
)
from google.ads.googleads.v26.services.types.conversion_upload_service import UploadClickConversionsRequest
from google.ads.googleads.v26.services.types.google_ads_service import SearchGoogleAdsRequest, SearchGoogleAdsResponse

from simulators.google.login import login_handler
from simulators.googleads.books import BY_ACTION, BY_CLIENT, Books
from simulators.googleads.responses import FAILURE_KEY, failure, is_adjusting, response, rows_of
from simulators.relay import Relay


def make_certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_file, certificate_file = folder / "key.pem", folder / "certificate.pem"
    key_file.touch(mode=0o600)
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return key_file, certificate_file


ACCEPTED = {"accepted_customer_data_terms": True, "effective_enablement_setting": 3}
HASH = re.compile(r"[0-9a-f]{64}")
FIRST_PARTY = 2
MOST_USER_IDENTIFIERS = 5

UPLOAD_ERROR, ADJUSTMENT_ERROR = "conversion_upload_error", "conversion_adjustment_upload_error"

Reply = Callable[["Call"], Any]


@dataclass
class Call:
    server: "GoogleAdsServer"
    request: Any
    raw: bytes
    metadata: dict[str, str]
    context: Any

    def accept(self, errors: list[dict[str, object]] | None = None, *, results: int | None = None) -> object:
        """Apply rows without an error; an order id counts once, and the newest adjustment of it."""
        row_errors = list(errors or []) + self.server.row_errors(self.request)
        failed = {error.get("index") for error in row_errors}
        family, apply = UPLOAD_ERROR, self._convert
        if is_adjusting(self.request):
            family, apply = ADJUSTMENT_ERROR, self._adjust
        with self.server.lock:
            for index, row in enumerate(rows_of(self.request)):
                if index not in failed and (name := apply(row)):
                    row_errors.append({"family": family, "name": name, "index": index, "field": self.field})
            if not self.request.validate_only:
                self.server.books.record(self.request, {error.get("index") for error in row_errors})
        return response(self.request, row_errors, results=results)

    @property
    def field(self) -> str:
        return "conversion_adjustments" if is_adjusting(self.request) else "conversions"

    def _convert(self, row: Any) -> str:
        if row.order_id in self.server.applied:
            return "ORDER_ID_ALREADY_IN_USE"
        if not self.request.validate_only:
            self.server.applied[row.order_id] = self.raw
            self.server.books.convert(row)
        return ""

    def _adjust(self, row: Any) -> str:
        return self.server.books.adjust(row, validate_only=self.request.validate_only)

    def refuse(self, code: str, *errors: dict[str, object], details: str = "") -> Any:
        """End the call with a gRPC status, and a Google Ads failure if errors are given."""
        trailing = [("request-id", self.server.request_id(self))]
        if errors:
            trailing.append((FAILURE_KEY, failure(*errors).SerializeToString()))
        self.context.set_trailing_metadata(tuple(trailing))
        self.context.abort(grpc.StatusCode[code], details or code)


def accept(call: Call) -> object:
    """Accept every row, except those with a click id that names an error."""
    return call.accept()


class GoogleAdsServer:
    """A scriptable server; `reset` restores its initial state."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder, threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.calls: list[Call] = []
        self.replies: deque[Reply] = deque()
        self.applied: dict[str, bytes] = {}
        self.errors: dict[str, list[dict[str, Any]]] = {}  # by click id; of adjustments, by order id
        self.books = Books()
        self.search: Callable[[Any], list[dict[str, object]]] | None = None
        self.terms: dict[str, object] = dict(ACCEPTED)
        self.login, self.logins = "ok", 0

    def start(self, *, port: int = 0) -> "GoogleAdsServer":
        key, self.certificate = make_certificate(self.folder)
        # gRPC reads this only at the first channel of a process.
        os.environ["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = str(self.certificate)
        self._grpc = grpc.server(ThreadPoolExecutor(8))
        methods = (
            ("ConversionUploadService", "UploadClickConversions", partial(self._answer, UploadClickConversionsRequest)),
            (
                "ConversionAdjustmentUploadService",
                "UploadConversionAdjustments",
                partial(self._answer, UploadConversionAdjustmentsRequest),
            ),
            ("GoogleAdsService", "Search", self._search),
        )
        for service, name, method in methods:
            handlers = {name: grpc.unary_unary_rpc_method_handler(method)}
            self._grpc.add_generic_rpc_handlers(
                [grpc.method_handlers_generic_handler(f"google.ads.googleads.v26.services.{service}", handlers)]
            )
        tls = grpc.ssl_server_credentials([(key.read_bytes(), self.certificate.read_bytes())])
        behind = self._grpc.add_secure_port("localhost:0", tls)
        self._grpc.start()
        self.proxy = Relay(lambda: socket.create_connection(("localhost", behind)), port=port)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), login_handler(self))
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        self.proxy.close()
        self._grpc.stop(0).wait()
        self._http.shutdown()
        self._http.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that point an uploader to this server."""
        return {
            "KILIT_GOOGLE_ADS_ENDPOINT": f"localhost:{self.proxy.port}",
            "KILIT_GOOGLE_TOKEN_URI": f"http://127.0.0.1:{self._http.server_port}/token",
            "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(self.certificate),
        }

    def request_id(self, call: Call) -> str:
        return f"request-{self.calls.index(call) + 1}"

    def row_errors(self, request: Any) -> list[dict[str, Any]]:
        """Return the errors of rows: those in `errors`, or named by a click id such as FAIL-UNPARSEABLE_GCLID-7."""
        if is_adjusting(request):
            return [
                {**error, "index": index, "field": "conversion_adjustments"}
                for index, row in enumerate(request.conversion_adjustments)
                for error in self.errors.get(row.order_id, [])
            ]
        errors = []
        for index, row in enumerate(request.conversions):
            click_id = row.gclid or row.wbraid or row.gbraid or next(map(hash_of, row.user_identifiers), "")
            if name := identifier_error(row):
                errors.append({"family": UPLOAD_ERROR, "name": name, "index": index})
            errors += [{**error, "index": index} for error in self.errors.get(click_id, [])]
            if click_id.startswith("FAIL-"):
                name = click_id.split("-")[1]
                errors.append({"family": UPLOAD_ERROR, "name": name, "index": index})
        return errors

    def _answer(self, kind: Any, raw: bytes, context: Any) -> bytes:
        request = kind.pb()()
        request.ParseFromString(raw)
        call = Call(self, request, raw, dict(context.invocation_metadata()), context)
        self.calls.append(call)
        try:
            reply = self.replies.popleft()  # two concurrent uploads may both have seen the last one
        except IndexError:
            reply = accept
        context.send_initial_metadata((("request-id", self.request_id(call)),))
        return bytes(reply(call).SerializeToString())

    def _search(self, raw: bytes, context: object) -> bytes:
        request = SearchGoogleAdsRequest.deserialize(raw)
        rows = self.search(request) if self.search else self._account(request)
        return bytes(SearchGoogleAdsResponse.serialize(SearchGoogleAdsResponse(results=rows)))

    def _account(self, request: Any) -> list[dict[str, Any]]:
        """Return a healthy account with one action that accepts uploads, number 7."""
        customer = f"customers/{request.customer_id}"
        for resource in (BY_CLIENT, BY_ACTION):
            if f"FROM {resource}" in request.query:
                return self.books.summaries(request.customer_id, resource)
        if "FROM customer" in request.query:
            setting = {"google_ads_conversion_customer": customer, **self.terms}
            return [
                {
                    "customer": {
                        "id": int(request.customer_id),
                        "descriptive_name": "Demo",
                        "time_zone": self.books.zone,
                        "conversion_tracking_setting": setting,
                    }
                }
            ]
        action = {"resource_name": f"{customer}/conversionActions/7", "name": "Satış", "type_": 7, "status": 2}
        return [{"conversion_action": action}]


def hash_of(identifier: Any) -> str:
    return str(identifier.hashed_email or identifier.hashed_phone_number)


def identifier_error(row: Any) -> str:
    """Return what is wrong with the click ids and hashes of a row."""
    clicks = sum(map(bool, (row.gclid, row.wbraid, row.gbraid)))
    if clicks > 1:
        return "GBRAID_WBRAID_BOTH_SET"
    good = all(
        HASH.fullmatch(hash_of(one)) and one.user_identifier_source == FIRST_PARTY for one in row.user_identifiers
    )
    is_identified = bool(clicks or row.user_identifiers) and len(row.user_identifiers) <= MOST_USER_IDENTIFIERS
    return "" if good and is_identified else "INVALID_USER_IDENTIFIER"
