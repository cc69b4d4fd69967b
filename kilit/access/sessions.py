"""Sessions hold what a user did last, to undo it: perhaps with a text about a person. Expired ones are deleted."""

import json
import re

from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.db.models.functions import Now

from kilit.lock.free_text import HIDDEN

BATCH = 2_000  # rows of one statement


def scrub(pattern: re.Pattern[str]) -> None:
    for session in Session.objects.iterator():
        data = json.dumps(session.get_decoded(), ensure_ascii=False)
        if pattern.search(data):
            erased = SessionStore().encode(json.loads(pattern.sub(HIDDEN, data)))
            Session.objects.filter(pk=session.pk).update(session_data=erased)


def expired() -> QuerySet[Session]:
    return Session.objects.filter(expire_date__lt=Now())


def forget_expired() -> str:
    deleted = 0
    while keys := list(expired().values_list("pk", flat=True)[:BATCH]):
        deleted += expired().filter(pk__in=keys).delete()[0]
    return f"Deleted {deleted}."
