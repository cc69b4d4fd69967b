"""Looks up in the database whose request is about to send a large body. Runs in a thread, as requests do."""

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.core import signing

from config.web.server.admission import Caller, RequestCredentials
from kilit.access.authentication import key_of_headers
from kilit.access.models import ApiKey
from ociqueue.api.authentication import LASTS, SALT


def identify(credentials: RequestCredentials) -> Caller:
    """Return whose request it is. What it may do is decided by Django, when all of it has arrived."""
    if credentials.session and SESSION_KEY in SessionStore(credentials.session):  # of a user who is logged in
        return Caller.SESSION
    return Caller.KEY if _is_known(key_of_headers(credentials.key, credentials.authorization)) else Caller.UNKNOWN


def _is_known(key: str) -> bool:
    try:
        signing.loads(key, salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        return bool(key) and ApiKey.objects.holding(key) is not None
    return True  # of a script's session
