"""Archiving and others at the same moment."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from kilit.sites.models import Tenant
from kilit.sites.operations import ARCHIVE, run_where_possible
from ociqueue.models import Site
from tests.support.turns import one_after_the_other

pytestmark = pytest.mark.django_db(transaction=True)


def test_archiving_waits_for_who_holds_the_queues_row_by_a_foreign_key(
    site: Site, make_conversion: Any, admin_user: User, sql: Any
) -> None:
    """Foreign keys are checked at the commit; here at once, to stop between the check and the commit."""

    def store() -> None:
        sql("SET CONSTRAINTS ALL IMMEDIATE")
        make_conversion(site)

    _, archived = one_after_the_other(store, lambda: run_where_possible(ARCHIVE, admin_user, [site.pk], reason="Over."))

    assert archived == set()
    assert not Tenant.objects.get().is_paused


def test_a_pause_that_waited_for_another_does_not_replace_it(site: Site) -> None:
    tenants = Tenant.objects.filter(pk=site.pk)

    paused = one_after_the_other(lambda: tenants.pause(reason="Audit"), lambda: tenants.pause(reason="Holiday"))

    assert paused == [1, 0]
    assert Tenant.objects.get().pause_reason == "Audit"
