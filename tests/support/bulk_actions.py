"""Bulk actions as an operator starts them, and what they did."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from kilit.batches.models import BulkAction
from kilit.batches.run import ENGINE
from ociqueue.models import Conversion

LIST = "/admin/ociqueue/conversion/"


PAGES = "/admin/bulk/bulkaction/"


def ask(client: Client, action: str = "retry", query: str = "status=FAILED", **fields: Any) -> Any:
    """Confirm an action over all that match, as its page does."""
    return client.post(f"{LIST}all/{action}/?{query}", {"reason": "fixed", **fields}, follow=True)


def asked(client: Client, action: str = "retry", query: str = "status=FAILED", **fields: Any) -> BulkAction:
    """Start an action and return it."""
    answer = ask(client, action, query, **fields)
    assert answer.redirect_chain, answer.context["form"].errors
    return BulkAction.objects.latest("created_at")


def said(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def states() -> dict[str, int]:
    found: dict[str, int] = {}
    for status in Conversion.objects.values_list("status", flat=True):
        found[status] = found.get(status, 0) + 1
    return found


def worked(action: BulkAction) -> BulkAction:
    """Let a worker do all there is."""
    ENGINE.work_due()
    action.refresh_from_db()
    return action


def user_of(client: Client) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])
