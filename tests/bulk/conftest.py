"""Failed conversions by the hundred, and operators who act on them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kilit.bulk.models import BulkAction
from kilit.bulk.running import work_due
from ociqueue.admin.actions import RETRY
from ociqueue.models import Conversion, Site
from tests.ociqueue.conftest import make_conversion, make_person, make_site, new_conversion, site

__all__ = ["make_conversion", "make_person", "make_site", "site"]

LIST = "/admin/ociqueue/conversion/"
PAGES = "/admin/bulk/bulkaction/"


@pytest.fixture
def make_failed() -> Callable[..., list[Conversion]]:
    """Make rows, claim them and fail them."""

    def make(site: Site, number: int, *, code: str = "INVALID_VALUE") -> list[Conversion]:
        made = Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
        rows = Conversion.objects.filter(pk__any_of=[row.pk for row in made])
        rows.claim(limit=number)
        rows.ack_failed(code=code, category="VALIDATION", message="bad")
        return list(rows.order_by("pk"))

    return make


@pytest.fixture
def small_batches() -> Iterator[None]:
    """Let a few rows take several batches; actions are frozen, so past their guard."""
    usual = RETRY.batch
    object.__setattr__(RETRY, "batch", 2)
    yield
    object.__setattr__(RETRY, "batch", usual)


def ask(client: Client, action: str = "retry", query: str = "status=FAILED", **fields: Any) -> Any:
    """Confirm an action over all that match, as its page does."""
    return client.post(f"{LIST}all/{action}/?{query}", {"reason": "mended", **fields}, follow=True)


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
    work_due()
    action.refresh_from_db()
    return action


def user_of(client: Client) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])
