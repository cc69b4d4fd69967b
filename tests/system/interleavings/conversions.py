"""Who may meet on a conversion: at a site whose script sends it, and at one that sends it to the Data Manager API."""

import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Sum
from django.db.models.functions import Now

from kilit.lock import pruning
from kilit.lock.audit import acting_as
from kilit.lock.identity import first_at
from kilit.lock.models import Event, Pruning
from ociqueue.intake.adjustments import adjust
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Adjustment, Conversion, IdentifierKind, Receipt, Site
from ociqueue.operating.erasure import Person as Identifier
from ociqueue.operating.erasure import forget
from ociqueue.script.acknowledge import ack, ack_failed
from ociqueue.states import Category, DeniedConsent, Disposition, SyncMethod
from ociqueue.uploader.results import RowResult, Verdict, VerdictStatus
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent
from ociqueue.uploader.verdict_run import rows_of, settle_verdict
from tests.support.conversions import SALE, new_conversion
from tests.support.dashboard import make_site
from tests.system.chaos.requests_of_people import (
    corrected_copies_take_the_place_of_their_rows,
    erased_rows_identify_no_one,
)
from tests.system.interleavings.meeting import LATE, OPERATOR, SWEEP, Person, Queue, World

LONG_AGO = datetime.now(UTC) - timedelta(days=365)
CLICK = SALE["gclid"]
FAILURE = {"code": "HTTP_503", "category": Category.TRANSIENT, "message": "Try again."}
Place = Callable[[], World]


def own(world: World) -> Any:
    return rows_like(world).filter(pk=world.row.pk)


def rows_like(world: World) -> Any:
    return type(world.row).objects.all()


def the_site(world: World) -> Site:
    site: Site = world.others["site"]
    return site


# Places


def stored(site: Site, **columns: Any) -> World:
    row = new_conversion(site, **{"source_key": "order-1", "gclid": CLICK, **columns})
    row.save()
    return World(Conversion.objects.get(pk=row.pk), {"site": site})


def at_script(*verbs: str, **columns: Any) -> Place:
    """Return what stores a conversion at a site with a script, and moves it so far."""

    def make() -> World:
        world = stored(make_site(requeue_transient=True), **columns)
        for verb in verbs:
            do(world, verb)
        world.row.refresh_from_db()
        return world

    return make


def do(world: World, verb: str) -> None:
    site, rows = the_site(world), own(world)
    steps: dict[str, Callable[[], Any]] = {
        "claim": lambda: Conversion.objects.for_site(site).claim(limit=1),
        "fail": lambda: ack_failed(site, [world.row.pk], **FAILURE),
        "ack": lambda: ack(site, [world.row.pk]),
        "recover": lambda: (make_stuck(world), rows.recover()),
        "stick": lambda: make_stuck(world),
        "retry": lambda: by_operator(rows.retry_selected),
        "age": lambda: rows.update(updated_at=LONG_AGO),
    }
    steps[verb]()


def by_operator(act: Callable[[], object]) -> None:
    with acting_as(OPERATOR):
        act()


def make_stuck(world: World) -> None:
    own(world).update(claimed_at=Now() - timedelta(hours=1))


def old(*verbs: str) -> Place:
    """Return what stores a conversion that ended a year ago."""
    pk = UUID(int=first_at(LONG_AGO).int | secrets.randbits(60))
    return at_script(*verbs, "age", id=pk, created_at=LONG_AGO, conversion_time=datetime.now(UTC) - timedelta(days=9))


def denied() -> World:
    """Return a conversion that its site does not send since it has changed its mind."""
    return stored(make_site(denied_consent=DeniedConsent.WITHHOLD), consent_ad_user_data="DENIED")


def late() -> World:
    return stored(make_site(), conversion_time=datetime.now(UTC) - timedelta(days=91))


def at_google(*results: RowResult | None) -> Place:
    """Return what stores a conversion, and uploads it so far: claimed and sent, and with these results."""

    def make() -> World:
        world = stored(make_site(sync_method=SyncMethod.DATA_MANAGER))
        for result in results:
            send(world, result)
        if results and results[-1] is None:
            make_stuck(world)
        world.row.refresh_from_db()
        return world

    return make


def send(world: World, result: RowResult | None) -> None:
    site = the_site(world)
    batch, rows = claim(site, SiteTurn(rows_like(world).for_site(site)))
    rows = mark_sent(batch, rows)
    world.others.update(batch=batch, sent=rows)
    for row in rows:
        world.note(f"sent {row.pk}")
    if rows and result:
        settle(batch, rows, [result] * len(rows))


def take_over(world: World) -> None:
    with acting_as(SWEEP):
        rows_like(world).recover()
    send(world, RECEIVED)


RECEIVED = RowResult(Disposition.RECEIVED, request_id="request-1")
ACCEPTED = RowResult(Disposition.ACCEPTED, request_id="request-1")
DEFERRED = RowResult(Disposition.RETRY, "INTERNAL", Category.TRANSIENT, "Try again.", ambiguous=True)


# People


def script_claims(world: World) -> None:
    for row in Conversion.objects.for_site(the_site(world)).claim(limit=10):
        world.note(f"sent {row.pk}")


def answers(result: RowResult) -> Callable[[World], object]:
    return lambda world: settle(world.others["batch"], world.others["sent"], [result])


def judges(status: VerdictStatus, *results: RowResult) -> Callable[[World], object]:
    def judge(world: World) -> object:
        receipt = Receipt.objects.select_related("batch").get()
        return settle_verdict(receipt, rows_of(receipt), Verdict(status, list(results), label=status))

    return judge


def correct(world: World) -> None:
    list(replace_rows(the_site(world), [Correction(str(world.row), {"conversionValue": "99"})]))


def send_again(world: World) -> None:
    row = world.row
    again = {**SALE, "conversionName": row.action, "sourceKey": row.source_key, "conversionValue": "77"}
    enqueue(the_site(world), [{**again, "conversionTime": row.conversion_time.isoformat()}])


def retract(world: World) -> None:
    adjust(the_site(world), [{"id": str(world.row), "kind": "RETRACTION"}])


def erase(world: World) -> None:
    list(forget(Identifier(IdentifierKind.CLICK_ID, CLICK), [the_site(world)]))


def undo(world: World) -> None:
    """Take a retry back as the console does: if nothing has changed the row since."""
    error = {"provider_error_code": "X", "provider_error_category": "PERMANENT"}
    own(world).filter(updated_at=world.row.updated_at).move("undo_retry", **error)


WAITS = ("new", "waits to retry", "retried")
OPERATORS = {
    "retry": Person("operator:ayse", lambda w: own(w).retry_selected(), ("waits to retry", "failed", "old and failed")),
    "undo": Person("operator:can", undo, ("retried",)),
    "reset": Person("operator:ece", lambda w: own(w).reset_to_queued(), (*WAITS, "claimed", "failed", "received")),
    "mark failed": Person(
        "operator:ali", lambda w: own(w).mark_failed(), (*WAITS, "claimed", "received", "denied", "late")
    ),
    "correct": Person("operator:nur", correct, (*WAITS, "claimed", "failed", "done", "denied", "late")),
    "erase": Person("operator:eda", erase, ("failed", "done", "old and failed", "old and done")),
    "retract": Person("key:shop", retract, (*WAITS, "claimed", "failed", "done", "received")),
    "send again": Person("key:shop", send_again, (*WAITS, "claimed", "failed", "done", "received", "denied")),
}
SWEEPS = {
    "recover": Person("sweep:recover", lambda w: rows_like(w).recover(), ("claimed",)),
    "cap": Person("sweep:cap", lambda w: rows_like(w).cap(max_attempts=1), ("waits to retry", "claimed")),
}
SCRIPTS_SITE = {
    "claim": Person("script:1", script_claims, WAITS),
    "ack": Person("script:1", lambda w: ack(the_site(w), [w.row.pk]), ("claimed",)),
    "ack failed": Person("script:2", lambda w: ack_failed(the_site(w), [w.row.pk], **FAILURE), ("claimed",)),
    "requeue": Person("sweep:requeue", lambda _: Conversion.objects.requeue_transient(), ("failed",)),
    "withhold": Person("sweep:end", lambda _: Conversion.objects.sweep_withheld(), ("denied",)),
    "expire": Person("sweep:end", lambda _: Conversion.objects.expire(), ("late",)),
    "prune": Person(
        "sweep:prune",
        lambda _: pruning.prune(older_than=timedelta(days=30), queues=["conversion"]),
        ("old and failed", "old and done"),
    ),
}
UPLOADS_SITE = {
    "upload": Person("worker:uploader", lambda w: send(w, RECEIVED), ("new",)),
    "take over": Person("worker:next", take_over, ("claimed",)),
    "answer yes": Person(LATE, answers(ACCEPTED), ("claimed",)),
    "answer later": Person(LATE, answers(RECEIVED), ("claimed",)),
    "answer no": Person(LATE, answers(DEFERRED), ("claimed",)),
    "verdict yes": Person("worker:verdict", judges(VerdictStatus.SETTLED, ACCEPTED), ("received",)),
    "verdict lost": Person("worker:verdict", judges(VerdictStatus.LOST), ("received",)),
}


def check(world: World) -> Iterator[str]:
    """Nothing is sent more often than it was claimed, and of versions of one order one can be sent."""
    rows = {row.pk: row for row in Conversion.objects.all()}
    for pk, row in rows.items():
        sent = sum(what == f"sent {pk}" for what, _by in world.effects)
        if sent > row.attempt_count:
            yield f"{pk} was sent {sent} times, with {row.attempt_count} claims"
    newest = [row for row in rows.values() if not row.is_replaced]
    if len(newest) > 1:
        yield f"{len(newest)} versions of one order can be sent"
    if not rows and not Pruning.objects.exists():
        yield "the row is lost"
    confirmed = Receipt.objects.aggregate(number=Sum("confirmed"))["number"] or 0
    if confirmed != Event.objects.filter(details__verb="confirm").count():
        yield f"receipts say that {confirmed} were confirmed"
    yield from corrected_copies_take_the_place_of_their_rows()
    yield from erased_rows_identify_no_one()


SCRIPT = Queue(
    "conversion of a script",
    (Conversion, Adjustment),
    places={
        "new": at_script(),
        "waits to retry": at_script("claim", "recover"),
        "retried": at_script("claim", "fail", "retry"),
        "claimed": at_script("claim", "stick"),
        "failed": at_script("claim", "fail"),
        "done": at_script("claim", "ack"),
        "denied": denied,
        "late": late,
        "old and failed": old("claim", "fail"),
        "old and done": old("claim", "ack"),
    },
    people={**SCRIPTS_SITE, **OPERATORS, **SWEEPS},
    check=check,
)
UPLOAD = Queue(
    "conversion of an upload",
    (Conversion, Adjustment),
    places={"new": at_google(), "claimed": at_google(None), "received": at_google(RECEIVED)},
    people={
        **UPLOADS_SITE,
        **{name: OPERATORS[name] for name in ("reset", "mark failed", "retract", "correct")},
        **SWEEPS,
    },
    check=check,
)
