"""Answers requests for documents while the database is away, when no key can be checked.

The caller gets its own variables back as HTML, which costs CPU of a web server. So the key must be one that this
process has seen valid, the body is small, and a process makes one document at a time. Others get the usual 503.
"""

import threading

from django.http import HttpResponse
from rest_framework.request import Request

from kilit.access.authentication import given_key
from kilit.access.models.api_key import digest
from pdfjobs.api.views import fallback_response
from pdfjobs.job_request import parse_job_request

MOST_BODY = 200 * 1024  # bytes: an invoice of 1,000 lines has 75,000
MOST_KEYS = 1000
_keys: dict[str, None] = {}  # the one seen last at the end
_turn = threading.Lock()


def remember_key(request: Request) -> None:
    """Remember the key of a request that was allowed."""
    if request.auth and (text := given_key(request)):
        _keys.pop(key := digest(text), None)
        _keys[key] = None
        if len(_keys) > MOST_KEYS:
            _keys.pop(next(iter(_keys)), None)


def respond(request: Request) -> HttpResponse | None:
    """Return the document as HTML, as the caller wishes; None for whom that is not done."""
    is_known = request.method == "POST" and digest(given_key(request)) in _keys
    length = request.META.get("CONTENT_LENGTH") or MOST_BODY + 1
    if not is_known or int(length) > MOST_BODY or "Content-Encoding" in request.headers:
        return None
    if not _turn.acquire(blocking=False):
        return None
    try:
        return fallback_response(parse_job_request(request.data))
    finally:
        _turn.release()
