"""Every error code, for a row and for a group: what is offered gets the row on, or it is not offered."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from kilit.batches.error_entries import TRY_AGAIN
from kilit.batches.queues import queues
from kilit.lock.table import Kind
from kilit.problems.failures import FailureLines, causes_of
from kilit.problems.registry import SeesEverything
from ociqueue.models import Conversion, Site
from orchestrator.error_entries import FAILED, HELD
from orchestrator.errors import Code
from orchestrator.models import Job
from tests.support.conversions import make_failed
from tests.support.cutting_jobs import failed, held
from tests.support.dashboard import make_site
from tests.support.queue_rows import LISTS, rows_of

pytestmark = pytest.mark.django_db

Codes = Callable[[str], list[tuple[str, str]]]
NAMES = ("conversion", "adjustment", "pdf", "message", "cutting_job")
# Pages where the cause is removed, after which the row goes on by itself or by a retry.
ELSEWHERE = ("/credentials/", "/ads-script/", "/outbox/endpoint/", "#preflight", "/settings/")


def by_api(row: Conversion) -> Conversion:
    """Return a row of a site that has a login: a script uses none."""
    Site.objects.filter(pk=row.site_id).update(sync_method="api")
    return row


MAKE: dict[str, Callable[[], Any]] = {
    "conversion": lambda: by_api(make_failed(make_site())[0]),
    **{name: rows_of(name).failed for name in ("adjustment", "pdf", "message")},
}


@contextmanager
def rolled_back() -> Iterator[None]:
    """Leave no row behind, so that each code is alone."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def prepare(name: str, code: str, state: str) -> Any:
    if name == "cutting_job":
        make = held if state == "HOLD" else failed
        return make(Code(code), message=code, order_id="S-1")
    row = MAKE[name]()
    failures = queues[name].failures
    type(row).objects.filter(pk=row.pk).update(**{failures.code: code, failures.message: code})
    return type(row).objects.get(pk=row.pk)


def cases(name: str) -> list[tuple[str, str]]:
    """Return a code for each entry, with its state: codes that share an entry share what is offered."""
    if name == "cutting_job":
        # Of an unknown handover: tests/orchestrator/saw/test_unknown_handover.py.
        refused = [(code, "FAILED") for code in FAILED if code != Code.HANDOVER_UNKNOWN]
        return [(code, "HOLD") for code in HELD] + refused
    (state, *_) = queues[name].table.of_kind(Kind.FAILED)
    return [(code, state) for code in {entry: code for code, entry in queues[name].errors.items()}.values()]


def ways(name: str) -> list[tuple[str, str]]:
    """Return one case for each way on, whatever the words."""
    entry = queues[name].entry
    return list({replace(entry(*case), words="", cause="", advice=""): case for case in cases(name)}.values())


def is_moving(row: Any) -> bool:
    """Return whether a row waits or is done, or another has taken its place."""
    row = type(row).objects.get(pk=row.pk)
    if row.status not in queues[row.lifecycle.queue].failures.states:
        return True
    if isinstance(row, Job):
        return Job.objects.filter(order_id=row.order_id, revision=row.revision + 1).exists()
    return getattr(row, "is_replaced", False) or getattr(row, "is_overtaken", False)


def press(client: Client, offer: Any, row: Any) -> None:
    if offer.is_done_at_once:
        client.post(offer.href, {"ids": str(row.pk), "from_row": "1"})
        return
    page = client.get(offer.href)
    assert page.status_code == 200, offer
    if any(part in offer.href for part in ELSEWHERE):
        return
    form = page.context.get("form")
    values = {field.html_name: field.value() or ("x" if field.field.required else "") for field in form or ()}
    if "conversionValue" in values:  # a correction changes something
        values["conversionValue"] = "12.50"
    if "/add-customers/" in offer.href:  # a customer without a name stays unknown
        values = dict.fromkeys(values, "Ayşe")
    client.post(offer.href, values)


# Codes with the same way on differ in their words only; opened and pressed for all of them at night.
BY_DAY_AND_NIGHT = pytest.mark.parametrize("codes", [ways, pytest.param(cases, marks=pytest.mark.nightly)])


@pytest.mark.parametrize("name", NAMES)
def test_every_code_has_words_and_says_what_to_do(name: str) -> None:
    entries = [queues[name].entry(*case) for case in cases(name)]

    assert [entry for entry in entries if not entry.label] == []
    assert [entry for entry in entries if not (entry.advice or entry.is_expected or entry.is_final)] == []


@pytest.mark.slow
@BY_DAY_AND_NIGHT
@pytest.mark.parametrize("name", NAMES)
def test_the_button_of_a_row_gets_it_on_or_is_not_there(name: str, codes: Codes, admin_client) -> None:
    stuck = []
    for code, state in codes(name):
        with rolled_back():
            row = prepare(name, code, state)
            page = admin_client.get(f"{LISTS[name]}{row.pk}/change/")
            offer, entry = page.context["primary"], queues[name].entry_of(row)
            assert page.context["error"].words == entry.label, code
            if entry.is_final:
                assert not {f"/{action}/" for action in TRY_AGAIN if f"act/{action}/" in page.text}, code
            for answer in [offer] if offer else page.context["answers"][:1]:
                press(admin_client, answer, row)
                is_elsewhere = any(part in str(answer.href) for part in ELSEWHERE)
                if not is_elsewhere and not is_moving(row):
                    stuck.append((code, state, str(answer.title)))

    assert stuck == []


@pytest.mark.slow
@BY_DAY_AND_NIGHT
@pytest.mark.parametrize("name", NAMES)
def test_the_button_of_a_group_gets_its_rows_on_or_is_not_there(
    name: str, codes: Codes, admin_client, admin_user
) -> None:
    queue, stuck = queues[name], []
    for code, state in codes(name):
        with rolled_back():
            row = prepare(name, code, state)
            (cause,) = causes_of(queue, SeesEverything()) or [None]
            if cause is None:  # a person ended it
                assert queue.entry(code, state).is_expected
                continue
            (line,) = FailureLines(queue=queue, title="%(number)s", reader=admin_user).problems([cause])
            entry = queue.entry_of(row)
            assert (line.code, line.cause, line.advice) == (code, entry.label, " ".join(entry.sentences()))
            if line.action and not gets_on(admin_client, line.action.link, row):
                stuck.append((code, state, line.action))

    assert stuck == []


def gets_on(client: Client, link: str, row: Any) -> bool:
    """Return whether the page of an action on a group would get its rows on."""
    page = client.get(link)
    if page.status_code != 200:
        return False
    if "/all/" in link:
        return bool(page.context["submit"])
    if link.endswith("/add-customers/"):
        client.post(link, dict.fromkeys(page.context["form"].fields, "Ayşe"))
        return is_moving(row)
    if "status=FAILED" in link:  # a list of rows to correct
        return list(page.context["cl"].result_list) == [row]
    return any(part in link for part in ELSEWHERE)
