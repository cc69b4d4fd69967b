"""What may be wrong with endpoints and their messages."""

from datetime import timedelta
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.problems.failures import FailedRows, failures, sites
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, page_path, row_path
from kilit.problems.queues import StuckJobs, register_queue_problems
from kilit.problems.registry import Place, ProblemAction, Severity
from kilit.problems.rows import RowProblems
from kilit.spans import moment
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import EndpointQuerySet, OffReason
from outbox.queue import QUEUE
from outbox.states import MESSAGES, SWITCH_OFF_AFTER

# A receiver that restarts is no problem yet.
FAILING_AFTER = timedelta(minutes=15)


def _endpoints(reader: Any) -> EndpointQuerySet:
    return Endpoint.objects.all().of_scopes(QUEUE.scopes_seen_by(reader))


def _switch_on(reader: Any, endpoints: list[Endpoint]) -> dict[object, ProblemAction]:
    return {
        endpoint.pk: ProblemAction(_("Switch on"), page_path(Endpoint, "switch_on", endpoint.pk))
        for endpoint in endpoints
        if endpoint.is_managed and reader.is_staff  # type: ignore[attr-defined]
    }


def _switch_on_and_retry(rows: FailedRows, reader: Any) -> ProblemAction | None:
    """Offer it where one endpoint, which is off, has all the messages."""
    if not reader.is_staff:
        return None
    failed = OutboxMessage.objects.visible_to(reader).filter(status=rows.state, error_code=rows.code)
    off = Endpoint.objects.managed_by(reader).filter(is_on=False)
    has_all = Exists(failed.filter(endpoint=OuterRef("pk"))) & ~Exists(failed.exclude(endpoint=OuterRef("pk")))
    endpoint = off.filter(has_all).first()
    if endpoint is None:
        return None
    return ProblemAction(_("Switch on and retry"), page_path(Endpoint, "switch_on", endpoint.pk, retry=rows.code))


def _failing(endpoint: Endpoint) -> dict[str, object]:
    off_at = (endpoint.failing_since or timezone.now()) + SWITCH_OFF_AFTER
    return {"cause": _("it is switched off at %(time)s unless it recovers") % {"time": moment(off_at)}}


of_endpoints = partial(
    RowProblems,
    part=MESSAGES.queue,
    severity=Severity.WARNING,
    place=lambda endpoint: Place(str(endpoint), link=row_path(endpoint), scope=endpoint.scope),
    named="endpoint",
    link=lambda: list_path(Endpoint),
)
OFF = of_endpoints(
    kind=ProblemKind.ENDPOINT_OFF,
    rows=lambda reader: (
        _endpoints(reader)
        .filter(is_on=False)
        .exclude(off_reason=OffReason.OPERATOR)
        .annotate(is_managed=Exists(Endpoint.objects.managed_by(reader).filter(pk=OuterRef("pk"))))
        .order_by("off_at")
    ),
    title=gettext_lazy("%(endpoint)s is switched off"),
    since="off_at",
    describe=lambda endpoint: {"cause": OffReason(endpoint.off_reason).label},
    actions=_switch_on,
    many=ngettext_lazy("%(number)s endpoint is switched off", "%(number)s endpoints are switched off", "count"),
    cause=gettext_lazy("their receivers failed for three days, or want no more messages"),
)
FAILING = of_endpoints(
    kind=ProblemKind.ENDPOINT_FAILING,
    rows=lambda reader: (
        _endpoints(reader).on().filter(failing_since__lt=Now() - FAILING_AFTER).order_by("failing_since")
    ),
    title=gettext_lazy("%(endpoint)s fails"),
    since="failing_since",
    describe=_failing,
    many=ngettext_lazy("%(number)s endpoint fails", "%(number)s endpoints fail", "count"),
    cause=gettext_lazy("each is switched off after three days unless it recovers"),
)
FAILED = failures(
    QUEUE,
    title=ngettext_lazy("%(number)s message failed", "%(number)s messages failed", "count"),
    scope_names=lambda: {str(pk): name for pk, name, _archived_at in sites()},
)
STUCK = StuckJobs(
    queue=QUEUE,
    title=ngettext_lazy("%(number)s message is stuck", "%(number)s messages are stuck", "count"),
    cause=gettext_lazy("their worker's lease lapsed; the scheduled task outbox_recover takes them back"),
)
STEPS = {"switch_on": _switch_on_and_retry}
register_queue_problems(QUEUE, OFF.source(), FAILING.source(), failed=FAILED, stuck=STUCK.source(), steps=STEPS)
