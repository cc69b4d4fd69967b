"""Who may meet on an adjustment, and on the conversion that it waits for."""

from collections.abc import Callable, Iterator

from django.db import transaction

from kilit.lock.audit import acting_as
from ociqueue.intake.adjustments import adjust
from ociqueue.models import Adjustment, Conversion
from ociqueue.uploader.settle import settle
from tests.system.interleavings.conversions import (
    ACCEPTED,
    DEFERRED,
    OPERATORS,
    SWEEPS,
    UPLOADS_SITE,
    at_google,
    make_stuck,
    own,
    send,
    the_site,
)
from tests.system.interleavings.meeting import OPERATOR, SWEEP, Person, Queue, World

EVERYWHERE = ("new", "waits", "claimed", "failed", "revivable")


def restated(*, upload: bool = False) -> World:
    """Return an adjustment to a conversion that Google has, or that is on its way."""
    world = at_google(None if upload else ACCEPTED)()
    conversion = world.row
    adjust(the_site(world), [{"id": str(conversion), "kind": "RESTATEMENT", "value": 80}])
    others = {name: thing for name, thing in world.others.items() if upload or name == "site"}
    return World(Adjustment.objects.get(), {**others, "conversion": conversion})


def claimed() -> World:
    world = restated()
    send(world, None)
    make_stuck(world)
    return world


def failed() -> World:
    """Return an adjustment that was deferred, and failed by hand."""
    world = restated()
    send(world, DEFERRED)
    with acting_as(OPERATOR):
        own(world).mark_failed()
    return world


def revivable() -> World:
    """Return an adjustment that failed with its conversion, which Google has by now."""
    world = restated(upload=True)
    conversion = Conversion.objects.filter(pk=world.others["conversion"].pk)
    with acting_as(OPERATOR):
        conversion.mark_failed()
    end_and_revive(world, revives=False)
    with acting_as(OPERATOR):
        conversion.retry_selected()
    send(World(conversion.get(), world.others), ACCEPTED)
    return world


def end_and_revive(_world: World, *, revives: bool = True) -> None:
    """Do what every upload begins with."""
    with transaction.atomic(), acting_as(SWEEP):
        Adjustment.objects.end_unsendable()
        if revives:
            Adjustment.objects.revive()


def adjust_again(kind: str, **value: int) -> Callable[[World], object]:
    return lambda world: adjust(the_site(world), [{"id": str(world.others["conversion"]), "kind": kind, **value}])


def conversion_of(world: World) -> World:
    return World(world.others["conversion"], world.others)


def its_upload_is_answered(world: World) -> None:
    settle(world.others["batch"], world.others["sent"], [ACCEPTED])


def check(world: World) -> Iterator[str]:
    """Nothing is adjusted that Google does not have, and one adjustment of a conversion is the newest."""
    world.others["conversion"].refresh_from_db()
    sent = Adjustment.objects.filter(status__in=["PROCESSING", "UPLOADED", "COMPLETED"]).exclude(attempt_count=0)
    if world.others["conversion"].status not in ("COMPLETED", "UPLOADED") and sent.exists():
        yield f"an adjustment was sent, and its conversion is {world.others['conversion'].status}"
    if Adjustment.objects.filter(is_overtaken=False).count() > 1:
        yield "two adjustments of one conversion can be sent"


ADJUSTMENTS = Queue(
    "adjustment",
    (Adjustment, Conversion),
    places={
        "new": restated,
        "waits": lambda: restated(upload=True),
        "claimed": claimed,
        "failed": failed,
        "revivable": revivable,
    },
    people={
        **{name: UPLOADS_SITE[name] for name in ("upload", "take over", "answer yes", "answer later", "answer no")},
        "end and revive": Person("sweep:upload", end_and_revive, ("new", "waits", "revivable")),
        "its conversion is accepted": Person("worker:original", its_upload_is_answered, ("waits",)),
        "its conversion is failed": Person(
            "operator:eda", lambda w: OPERATORS["mark failed"].act(conversion_of(w)), ("waits",)
        ),
        "adjust again": Person("key:shop", adjust_again("RESTATEMENT", value=70), EVERYWHERE),
        "retract": Person("key:shop", adjust_again("RETRACTION"), EVERYWHERE),
        "retry": Person("operator:ayse", OPERATORS["retry"].act, ("failed",)),
        "reset": Person("operator:ece", OPERATORS["reset"].act, ("new", "claimed", "failed")),
        "mark failed": Person("operator:ali", OPERATORS["mark failed"].act, ("new", "waits", "claimed")),
        **SWEEPS,
    },
    check=check,
)
