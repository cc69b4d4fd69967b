"""Remote images in variables: fetched by the worker from allowed addresses, and embedded in the page."""

import base64
import http.client
import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import SplitResult, urljoin, urlsplit

from django.conf import settings

from kilit.api.input_model import invalid
from kilit.outgoing.addresses import AddressNotAllowed, Deadline, is_public
from kilit.outgoing.sockets import PinnedSocket, http_connection, open_socket
from pdfjobs.documents.fields import Checked, Variables

MOST_BYTES = 1024 * 1024
TIME_LIMIT = 5.0  # seconds, for all of it
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
MOST_ADDRESS = 2000
MOST_SIDE = 6000  # pixels; a small file can decompress into gigabytes
PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
JPEG_SCAN, JPEG_END = 0xDA, b"\xff\xd9"
JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # the markers that contain the size


class ImageError(Exception):
    """An image that cannot be used; the message says why."""


def fetch(address: str) -> bytes:
    """Return the file's bytes; each redirect is checked like the first address."""
    deadline = Deadline(TIME_LIMIT)
    for _ in range(MOST_REDIRECTS + 1):
        if not is_allowed(address):
            raise ImageError(f"it redirects to {address}, which is not allowed.")
        try:
            connected = _connect(address, deadline)
            try:
                content, moved_to = _ask(urlsplit(address), connected)
            finally:
                connected.disconnect()
        except TimeoutError:
            raise ImageError(f"it took more than {TIME_LIMIT:g} s.") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ImageError(f"the response was interrupted ({type(error).__name__}).") from None
        if moved_to is None:
            return content
        try:
            address = urljoin(address, moved_to)
        except ValueError:
            raise ImageError("it redirects to an invalid address.") from None
    raise ImageError(f"it redirects more than {MOST_REDIRECTS} times.")


def _connect(address: str, deadline: Deadline) -> PinnedSocket:
    try:
        parts = urlsplit(address)
        tls = parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        return open_socket(parts.hostname or "", port, tls=tls, deadline=deadline, is_allowed=is_public)
    except AddressNotAllowed as error:
        raise ImageError(str(error)) from None
    except TimeoutError:
        raise
    except (OSError, ValueError) as error:
        raise ImageError(f"no connection ({error}).") from None


def _ask(parts: SplitResult, connected: PinnedSocket) -> tuple[bytes, str | None]:
    connected.handshake()
    connection = http_connection(parts.hostname or "", connected)
    # No compression, so that a small response cannot expand.
    headers = {"Host": parts.netloc, "Accept": "image/png, image/jpeg", "Accept-Encoding": "identity"}
    connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=headers)
    with connection.getresponse() as response:
        if response.status in REDIRECTS:
            return b"", response.getheader("Location") or ""
        if response.status != http.HTTPStatus.OK:
            raise ImageError(f"the status was {response.status}.")
        content = response.read(MOST_BYTES + 1)
    connected.deadline.left()
    if len(content) > MOST_BYTES:
        raise ImageError(f"it has more than {MOST_BYTES:,} bytes.")
    if response.length:
        raise ImageError("the response was interrupted.")
    return content, None


@dataclass(frozen=True)
class RemoteImage:
    address: str


def _read_address(value: object) -> RemoteImage:
    if isinstance(value, str) and is_allowed(value):
        return RemoteImage(value)
    raise invalid("Expected an address that images may come from; the operator lists those (none by default).")


Image = Annotated[RemoteImage, Checked("the address of a PNG or JPEG, on the operator's list", _read_address)]


def is_allowed(address: str) -> bool:
    """Whether a pattern in KILIT_PDF_ASSET_PATTERNS matches the whole address."""
    # Only characters of URLs, and nothing that two parsers could read differently.
    if len(address) > MOST_ADDRESS or not re.fullmatch(r"https?://[!#-;=?-Z\]\[_a-z~]+", address) or "@" in address:
        return False
    return any(re.fullmatch(pattern, address) for pattern in settings.PDF_ASSET_PATTERNS)


def embed_images(value: object) -> Any:
    match value:
        case Variables():
            return {name: embed_images(inner) for name, inner in value}
        case RemoteImage(address):
            return data_url(address)
        case dict():
            return {name: embed_images(inner) for name, inner in value.items()}
        case list():
            return [embed_images(inner) for inner in value]
        case _:
            return value


def data_url(address: str) -> str:
    try:
        content = fetch(address)
    except ImageError as error:
        raise ImageError(f"{address} could not be fetched: {error}") from None
    kind, width, height = kind_and_size(content)
    if not kind:
        raise ImageError(f"{address} is neither a PNG nor a JPEG.")
    if not (0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE):
        raise ImageError(f"{address} is {width} x {height} pixels; at most {MOST_SIDE} per side are allowed.")
    if not is_whole(content):
        raise ImageError(f"{address} is damaged: the file is cut off or was changed on its way.")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def kind_and_size(content: bytes) -> tuple[str, int, int]:
    """Read kind, width and height from the content; HTTP headers are not trusted."""
    if content.startswith(PNG) and content[12:16] == b"IHDR":
        return "png", int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    if content.startswith(JPEG):
        return ("jpeg", *_jpeg_size(content))
    return "", 0, 0


def is_whole(content: bytes) -> bool:
    """Return whether an image has its end: a browser prints half of one without a word."""
    if content.startswith(PNG):
        return _is_whole_png(content)
    # Behind the start of the scan: a preview in the header has an end of its own.
    return JPEG_END in _jpeg_segment(content, [JPEG_SCAN])


def _is_whole_png(content: bytes) -> bool:
    place = len(PNG)
    while place + 12 <= len(content):
        end = place + 12 + int.from_bytes(content[place : place + 4])
        checked = int.from_bytes(content[end - 4 : end])
        if end > len(content) or zlib.crc32(content[place + 4 : end - 4]) != checked:
            return False
        if content[place + 4 : place + 8] == b"IEND":
            return True
        place = end
    return False


def _jpeg_size(content: bytes) -> tuple[int, int]:
    frame = _jpeg_segment(content, JPEG_SIZES)
    return int.from_bytes(frame[7:9]), int.from_bytes(frame[5:7])


def _jpeg_segment(content: bytes, markers: Collection[int]) -> bytes:
    """Return the file from the first segment with one of the markers on; nothing if there is none."""
    place = 2
    while place + 4 <= len(content) and content[place] == JPEG[0]:
        if content[place + 1] in markers:
            return content[place:]
        place += 2 + int.from_bytes(content[place + 2 : place + 4])
    return b""
