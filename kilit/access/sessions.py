"""Sessions hold what a user did last, to undo it: perhaps with a text about a person."""

import json
import re

from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session

from kilit.lock.scrubbing import HIDDEN


def scrub(pattern: re.Pattern[str]) -> None:
    """Remove matches from all sessions, also from those that have expired."""
    for session in Session.objects.iterator():
        data = json.dumps(session.get_decoded(), ensure_ascii=False)
        if pattern.search(data):
            erased = SessionStore().encode(json.loads(pattern.sub(HIDDEN, data)))
            Session.objects.filter(pk=session.pk).update(session_data=erased)
