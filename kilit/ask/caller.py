"""Who asks: a person with a session or a key, and which queues and rows that is."""

from dataclasses import dataclass
from html import unescape
from typing import Any, cast

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.html import strip_tags
from rest_framework.exceptions import NotFound

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.batches.queues import Queue, queues
from kilit.console.queue_admin import QueueAdmin
from kilit.machine_errors import explain
from kilit.masking import mask_identifiers


def masked(text: object) -> str:
    """Return a text of people or machines as lists show it: in words, and without personal data."""
    return mask_identifiers(explain(unescape(strip_tags(str(text)))))


def link(path: str) -> str:
    return f"{settings.PUBLIC_URL}{path}"


def admin_of(queue: Queue) -> QueueAdmin:
    return cast("QueueAdmin", admin.site.get_model_admin(queue.model))


@dataclass(frozen=True)
class Caller:
    request: HttpRequest  # Django's: the pages' own functions read its user
    key: ApiKey | None = None  # a session has none

    @property
    def user(self) -> User:
        return cast("User", self.request.user)

    def has_scope(self, scope: KeyScope) -> bool:
        return self.key is None or scope in self.key.scopes

    def queues(self, name: str | None = None) -> list[Queue]:
        """Return the queues that the caller sees, or the one of this name."""
        named = [queue for each, queue in queues.items() if name in (None, each) and queue.may_see(self.user)]
        if name and not named:
            raise NotFound(f"There is no queue {name} among those that you see.")
        return named

    def may(self, operation: str, queue: Queue) -> bool:
        is_known = any(each.name == operation for each in queue.operations)
        return is_known and self.has_scope(KeyScope.OPERATE) and queue.may_operate(self.user)

    def may_anywhere(self, operation: str) -> bool:
        return any(self.may(operation, queue) for queue in self.queues())

    def may_pause(self, queue: Queue) -> bool:
        return bool(queue.paused_title) and queue.may_pause(self.user)

    def find(self, text: str, name: str | None, most: int) -> tuple[list[tuple[Queue, Any]], bool]:
        """Return the newest rows that a text finds, each with its queue, and whether there are more."""
        matches: list[tuple[Queue, Any]] = []
        for queue in self.queues(name):
            rows = admin_of(queue).get_queryset(self.request)
            found = rows.filter(pk__in=queue.search(rows, text).ids).order_by("-pk")
            matches += ((queue, row) for row in found[: most + 1])
        matches.sort(key=lambda match: match[1].pk, reverse=True)
        return matches[:most], len(matches) > most
