"""Every page and every operation, as everyone: nobody sees or changes what is another site's or the installation's.

Pages and operations are found, not listed (tests/support/tenancy). The table of what came of it is in
docs/security.md; `make trial-tenancy` runs this again.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import translation

from tests.support.tenancy import doors, table, walk
from tests.support.tenancy.doors import Door
from tests.support.tenancy.walk import ALLOWED, Identity, Visit
from tests.support.tenancy.world import World, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]  # it opens every page of the console as everyone
# Keys of the walk ask more in a minute than others.
SETTINGS = {"CRON_SECRET": "secret", "RATE_PER_MINUTE": 100_000, "ADMIN_RATE_PER_MINUTE": 100_000}
# These are opened by a secret, or by a link, that no identity here has.
OPENED_OTHERWISE = ("/api/cron/", "/pdf/links/")


@dataclass
class Found:
    world: World
    pages: list[Visit]
    searches: list[Visit]
    operations: list[Visit]

    @property
    def all(self) -> list[Visit]:
        return [*self.pages, *self.searches, *self.operations]


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing: every refusal would log its traceback."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.nightly)], ids=["day", "night"])
def at_night(request) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def found(at_night: bool, django_db_setup: None, django_db_blocker) -> Iterator[Found]:
    """Make the world once, and walk through it once; by day as some of the people and keys."""
    # In English, whatever the test before has left: the groups of pages are called by their models.
    english = translation.override("en")
    with django_db_blocker.unblock(), override_settings(**SETTINGS), transaction.atomic(), english, quiet():
        world = make_world()
        people, keys = walk.people(world), walk.keys(world)
        members = [identity for identity in people if identity.sees == ("own",)]
        visit_pages, visit = (walk.visit_pages, walk.visit) if at_night else (walk.visit_by_day, walk.visit_by_day)
        yield Found(
            world,
            visit_pages(world, doors.pages(world), people),
            walk.visit(world, list(doors.searches(world)), members[-1:]),
            visit(world, doors.operations(world), [*people, *keys]),
        )
        transaction.set_rollback(True)


def lines(visits: list[Visit]) -> list[str]:
    return [f"{each.identity.name}: {each.door.method} {each.door.path} {sorted(each.leaks)}" for each in visits]


def test_no_answer_contains_a_mark_of_another_site_or_of_the_installation(found: Found) -> None:
    assert lines([each for each in found.all if each.leaks]) == []


def test_rows_of_another_site_are_opened_by_owners_only(found: Found) -> None:
    members = [each for each in found.all if each.identity.sees != ("own", "other", "house")]

    opened = [each for each in members if each.door.target == "other" and each.outcome == ALLOWED]

    assert lines([each for each in opened if each not in found.searches]) == []


def test_every_operation_is_opened_by_someone(found: Found) -> None:
    """Otherwise its refusals prove nothing: perhaps it was asked for in the wrong way."""
    opened = {each.door.label for each in found.operations if each.outcome == ALLOWED}

    missing = {each.door.label for each in found.operations} - opened

    assert [label for label in sorted(missing) if not label.startswith(OPENED_OTHERWISE)] == []


def test_members_see_their_own_site(found: Found) -> None:
    """The marks are where they are looked for."""
    opened = {each.door.name for each in found.pages if each.identity.name == "admin" and each.outcome == ALLOWED}

    assert {"changelist", "change", "dead_letters"} <= {name.partition(" ")[0] for name in opened}


def test_nothing_that_is_sent_to_rows_of_others_changes_them(found: Found, *, at_night: bool) -> None:
    of_others = [door for door in _doors(found) if door.target == "other" or _is_of_owners(door, found)]
    members: list[Identity] = [
        identity for identity in (*walk.people(found.world), *walk.keys(found.world)) if identity.sees == ("own",)
    ]
    if not at_night:
        members = [identity for identity in members if identity.name in ("admin", "key of the site")]

    assert walk.changes(found.world, of_others, members) == []


def _doors(found: Found) -> list[Door]:
    return list(dict.fromkeys(each.door for each in (*found.pages, *found.operations)))


def _is_of_owners(door: Door, found: Found) -> bool:
    """Tell what the installation has beside its sites, such as an endpoint, from PDF and cutting jobs."""
    return door.target == "house" and (door.model in found.world.own.rows or "/api/outbox/" in door.path)


def test_what_came_of_it_is_in_the_document(found: Found) -> None:
    document = table.between_marks(table.DOCUMENT.read_text())

    assert table.differences(document, found.pages, found.operations) == []


@pytest.mark.parametrize("at_night", [pytest.param(True, marks=pytest.mark.nightly)], indirect=True)
def test_the_table_of_who_may_open_what_is_in_the_document(found: Found) -> None:
    written = table.tables(found.pages, found.operations)
    document = table.DOCUMENT.read_text()
    if os.environ.get("KILIT_WRITE_TENANCY_TABLE"):
        table.DOCUMENT.write_text(table.with_table(document, written))
        return

    assert table.between_marks(document) == written, "Run .venv/bin/python -m tests.support.tenancy --write"


def test_a_part_that_nothing_fills_in_is_named(found: Found) -> None:
    with pytest.raises(doors.UnknownPartError, match=r"admin/<new>/: say in .*doors.py what stands for <new>"):
        doors.fill("admin/<new>/", {})
