"""Who may meet on a bulk action, on an import, and on a circuit."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from io import BytesIO
from typing import Any

from django.db.models.functions import Now

from kilit.batches import run
from kilit.batches.jobs import BatchJob
from kilit.batches.models import BulkAction, BulkItem
from kilit.lock.audit import acting_as
from kilit.lock.leases import MOST_LAPSES
from ociqueue.files import import_run
from ociqueue.files.import_jobs import begin
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Circuit, Conversion, ImportJob
from ociqueue.states import Category
from tests.support.conversions import SALE, make_failed
from tests.support.dashboard import make_site
from tests.support.people import make_user
from tests.system.interleavings.meeting import LATE, OPERATOR, Person, Queue, World

ENGINES: dict[type[BatchJob], Any] = {BulkAction: run.ENGINE, ImportJob: import_run.ENGINE}
FILE = "conversionName,gclid,conversionTime,conversionValue,sourceKey\nSatış,click-1,{time},120,order-1\n"


def own(world: World) -> Any:
    return type(world.row).objects.filter(pk=world.row.pk)


def planned() -> World:
    """Return a bulk action that retries one failed conversion."""
    site = make_site()
    (failed,) = make_failed(site)
    user = make_user(sites=[site])
    asked = {"queue": "conversion", "action": "retry", "filters": {"status": "FAILED"}, "reason": "fixed"}
    return World(run.plan(user=user, filters_text="", **asked), {"failed": failed})


def uploaded() -> World:
    """Return an import of one conversion."""
    site = make_site()
    file = FILE.format(time=SALE["conversionTime"]).encode()
    return World(begin(site, BytesIO(file), user=make_user(sites=[site])), {"site": site})


def prepared(make: Callable[[], World]) -> Callable[[], World]:
    return lambda: worked(make())


def worked(world: World) -> World:
    engine(world).work_due()
    world.row.refresh_from_db()
    return world


def confirmed(make: Callable[[], World]) -> Callable[[], World]:
    def put() -> World:
        world = worked(make())
        with acting_as(OPERATOR):
            start(world)
        world.row.refresh_from_db()
        return world

    return put


def claimed(make: Callable[[], World], *, lapses: int = 0) -> Callable[[], World]:
    """Return what a slow worker has, whose lease is over."""

    def put() -> World:
        world = make()
        world.row = own(world).claim()
        own(world).update(lease_until=Now() - timedelta(seconds=1), lapse_count=lapses)
        world.row.refresh_from_db()
        return world

    return put


def forgotten(make: Callable[[], World]) -> Callable[[], World]:
    def put() -> World:
        world = worked(make())
        own(world).update(updated_at=Now() - timedelta(days=2))
        return world

    return put


def engine(world: World) -> Any:
    return ENGINES[type(world.row)]


def start(world: World) -> None:
    if isinstance(world.row, BulkAction):
        own(world).start(count=1)
    else:
        own(world).start()


def cancel(world: World) -> None:
    engine(world).cancel(type(world.row).objects.get(pk=world.row.pk))


def send_alike(world: World) -> None:
    enqueue(world.others["site"], [{**SALE, "gclid": "click-1", "sourceKey": "order-1"}])


def check_bulk(world: World) -> Iterator[str]:
    """The row was retried once at most, and a result says so."""
    changed = BulkItem.objects.filter(result="changed").count()
    world.row.refresh_from_db()
    if changed != world.row.moved_count:
        yield f"{changed} results say that a row was changed, the action says {world.row.moved_count}"


def check_import(world: World) -> Iterator[str]:
    """The order is stored once, whoever sends it."""
    if (number := Conversion.objects.count()) > 1:
        yield f"the order is stored {number} times"
    world.row.refresh_from_db()
    if world.row.status == "DONE" and not number:
        yield "the order is lost"


def people_of(*, reading: tuple[str, ...], running: tuple[str, ...], ready: tuple[str, ...]) -> dict[str, Person]:
    slow = tuple(place for place in (*reading, *running) if place.startswith("claimed"))
    open_places = (*reading, *running, *ready)
    return {
        "work": Person("worker:batch", lambda w: engine(w).work_due(), (*reading, *running)),
        "go on late": Person(LATE, lambda w: engine(w).work(w.row), slow),
        "confirm": Person("operator:ayse", start, ready),
        "cancel": Person("operator:can", cancel, open_places),
        "forget": Person("sweep:batches", lambda w: engine(w).cancel_unconfirmed(), ready),
    }


PLACES = ("new", "claimed and new", "ready", "forgotten", "confirmed", "claimed", "claimed too often")
COMMON = people_of(
    reading=("new", "claimed and new"),
    running=("confirmed", "claimed", "claimed too often"),
    ready=("ready", "forgotten"),
)


def places(make: Callable[[], World]) -> dict[str, Callable[[], World]]:
    makers = (
        make,
        claimed(make),
        prepared(make),
        forgotten(make),
        confirmed(make),
        claimed(confirmed(make)),
        claimed(confirmed(make), lapses=MOST_LAPSES),
    )
    return dict(zip(PLACES, makers, strict=True))


def retry_row(world: World) -> None:
    Conversion.objects.filter(pk=world.others["failed"].pk).retry_selected()


BULK_ACTIONS = Queue(
    "bulk action",
    (BulkAction, Conversion),
    places=places(planned),
    people={**COMMON, "retry its row": Person("operator:ece", retry_row, ("new", "confirmed", "claimed"))},
    check=check_bulk,
)
IMPORTS = Queue(
    "import",
    (ImportJob, Conversion),
    places=places(uploaded),
    people={**COMMON, "send alike": Person("key:shop", send_alike, ("new", "confirmed", "claimed"))},
    check=check_import,
)


def circuit(*, is_open: bool) -> Callable[[], World]:
    def put() -> World:
        site = make_site()
        row = Circuit.objects.create(site=site)
        if is_open:
            row = trip_at(site)
            Circuit.objects.all().probe_now()
        return World(row, {"site": site})

    return put


def trip_at(site: Any) -> Circuit:
    return Circuit.objects.trip(site, code="INVALID_GRANT", category=Category.AUTH, reason="The login was revoked.")


def probe(world: World) -> None:
    if Circuit.objects.open().take_probe():
        world.note("probed")


def check_circuit(world: World) -> Iterator[str]:
    if len(world.effects) > 1:
        yield "two probes were sent"


CIRCUITS = Queue(
    "circuit",
    (Circuit,),
    places={"closed": circuit(is_open=False), "open": circuit(is_open=True)},
    people={
        "trip": Person("worker:uploader", lambda w: trip_at(w.others["site"]), ("closed", "open")),
        "close": Person("worker:verdict", lambda w: own(w).close(), ("open",)),
        "close by hand": Person("operator:ayse", lambda w: own(w).close(), ("open",)),
        "probe": Person("worker:probe", probe, ("open",)),
    },
    check=check_circuit,
)
