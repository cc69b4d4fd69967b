"""Archiving and others at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from kilit.sites.models import Tenant
from kilit.sites.operations import ARCHIVE, run_where_possible
from ociqueue.models import Site
from tests.support.waiting import has_waiter, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def in_thread(pool: ThreadPoolExecutor, verb: Any) -> Any:
    def run() -> Any:
        try:
            return verb()
        finally:
            connection.close()

    return pool.submit(run)


def test_archiving_waits_for_who_holds_the_queues_row_by_a_foreign_key(
    site: Site, make_conversion: Any, admin_user: User, sql: Any
) -> None:
    """Foreign keys are checked at the commit; here at once, to stop between the check and the commit."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            sql("SET CONSTRAINTS ALL IMMEDIATE")
            make_conversion(site)
            archived = in_thread(pool, lambda: run_where_possible(ARCHIVE, admin_user, [site.pk], reason="Over."))
            wait_until(has_waiter)

        assert archived.result() == set()

    assert not Tenant.objects.get().is_paused


def test_a_pause_that_waited_for_another_does_not_replace_it(site: Site) -> None:
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Tenant.objects.filter(pk=site.pk).pause(reason="Audit")
            second = in_thread(pool, lambda: Tenant.objects.filter(pk=site.pk).pause(reason="Holiday"))
            wait_until(has_waiter)

        assert second.result() == 0

    assert Tenant.objects.get().pause_reason == "Audit"
