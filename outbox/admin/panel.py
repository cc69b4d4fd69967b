"""Webhooks on the dashboard, and what is wrong with them."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.access.scopes import scope_names
from kilit.console.dashboard.failure_problems import FailureLines
from kilit.console.dashboard.panels import Panel, PanelItem, StuckRows
from kilit.console.jobs.blockers import moment
from kilit.console.machine_errors import explain
from kilit.lock.models import ErrorGroup
from kilit.lock.models.error_groups import failures_of
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import (
    MOST_NAMED,
    Place,
    Problem,
    ProblemAction,
    ProblemSource,
    Severity,
    name_or_fold,
    problem_key,
    with_number,
)
from outbox.admin.columns import COLOURS
from outbox.admin.error_meanings import explain_code
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import EndpointQuerySet, OffReason
from outbox.models.message import OutboxMessageQuerySet
from outbox.operations import QUEUE
from outbox.states import MESSAGES, SWITCH_OFF_AFTER, MessageStatus

BY_HAND = "MARKED_FAILED"  # an operator decided it
# A receiver that restarts is no problem yet.
FAILING_AFTER = timedelta(minutes=15)
STUCK_AFTER = timedelta(minutes=5)  # the scheduled task runs each minute


class OutboxPanel(Panel):
    title = gettext_lazy("Webhooks and alerts")
    icon = "outbox"
    queue, colours = QUEUE, COLOURS
    well, badly = (MessageStatus.DELIVERED,), (MessageStatus.FAILED,)
    oldest_means = gettext_lazy("Since the message that has been due longest could have been sent.")
    paused_title = gettext_lazy("Webhooks paused by %(person)s")

    def is_in_use(self, user: User | AnonymousUser) -> bool:
        return Endpoint.objects.visible_to(user).exists() or self.queue.visible_to(user).exists()

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        """Ask each endpoint for its own first message, which an index has; together they may have millions."""
        first = OutboxMessage.objects.due().filter(endpoint=OuterRef("pk")).order_by("next_try_at", "id")
        endpoints = Endpoint.objects.visible_to(user).annotate(
            oldest=Subquery(first.values("pk")[:1]),
            kind=Subquery(first.values("kind")[:1]),
            since=Subquery(first.values("next_try_at")[:1]),
        )
        found: Any = endpoints.order_by(F("since").asc(nulls_last=True)).first()
        if found is None or found.oldest is None:
            return None
        return PanelItem(found.kind, self.row_address(found.oldest), str(found), found.since)

    def problem_sources(self) -> Iterator[ProblemSource]:
        yield ProblemSource(self._failures, lambda: failures_of(MESSAGES.queue))
        yield ProblemSource(self._off, lambda: [switched_off(Endpoint.objects.all())])
        yield ProblemSource(self._failing, lambda: [failing(Endpoint.objects.all())])
        yield ProblemSource(self._stuck, lambda: [stuck_messages(OutboxMessage.objects.all())])

    def _failures(self, user: User | AnonymousUser) -> list[Problem]:
        causes = ErrorGroup.objects.causes(
            queue=MESSAGES.queue,
            states=[MessageStatus.FAILED],
            scopes=self.queue.scopes_seen_by(user),
            without=[BY_HAND],
            named=MOST_NAMED,
        )
        may_act = bool(causes) and self.queue.may_act(user)
        return FailureLines(
            part=MESSAGES.queue,
            title=lambda count: with_number(
                ngettext("%(number)s message failed", "%(number)s messages failed", count), count
            ),
            list_of=lambda filters: self.list_address(**filters),
            groups=self.groups_address(),
            retry_of=lambda cause: self.bulk_address("retry", group=cause.name) if may_act else "",
            explain=lambda cause: f"{cause.code} {explain_code(cause.code) or explain(cause.shape)}".strip(),
            scope_names=scope_names() if causes else {},
        ).problems(causes, timezone.now())

    def _off(self, user: User | AnonymousUser) -> list[Problem]:
        rows = switched_off(self._endpoints(user))
        first = list(rows.order_by("off_at")[: MOST_NAMED + 1])
        ids = [endpoint.pk for endpoint in first]
        managed = Endpoint.objects.managed_by(user).filter(pk__in=ids) if ids and user.is_staff else ()
        managed_ids = {endpoint.pk for endpoint in managed}

        def problem(endpoint: Endpoint) -> Problem:
            switch_on = reverse("admin:outbox_endpoint_switch_on", args=[endpoint.pk])
            return _of_endpoint(
                endpoint,
                ProblemKind.ENDPOINT_OFF,
                Severity.WARNING,
                title=_("%(endpoint)s is switched off") % {"endpoint": endpoint},
                cause=OffReason(endpoint.off_reason).label,
                since=endpoint.off_at,
                action=ProblemAction(_("Switch on"), switch_on) if endpoint.pk in managed_ids else None,
            )

        return name_or_fold(
            first,
            problem,
            lambda: _of_many(
                rows,
                first,
                ProblemKind.ENDPOINT_OFF,
                Severity.WARNING,
                title=lambda count: with_number(
                    ngettext("%(number)s endpoint is switched off", "%(number)s endpoints are switched off", count),
                    count,
                ),
                cause=_("their receivers failed for three days, or want no more messages"),
            ),
        )

    def _failing(self, user: User | AnonymousUser) -> list[Problem]:
        rows = failing(self._endpoints(user))
        first = list(rows.order_by("failing_since")[: MOST_NAMED + 1])

        def problem(endpoint: Endpoint) -> Problem:
            off_at = (endpoint.failing_since or timezone.now()) + SWITCH_OFF_AFTER
            return _of_endpoint(
                endpoint,
                ProblemKind.ENDPOINT_FAILING,
                Severity.WARNING,
                title=_("%(endpoint)s fails") % {"endpoint": endpoint},
                cause=_("it is switched off at %(time)s unless it recovers") % {"time": moment(off_at)},
                since=endpoint.failing_since,
            )

        return name_or_fold(
            first,
            problem,
            lambda: _of_many(
                rows,
                first,
                ProblemKind.ENDPOINT_FAILING,
                Severity.WARNING,
                title=lambda count: with_number(
                    ngettext("%(number)s endpoint fails", "%(number)s endpoints fail", count), count
                ),
                cause=_("each is switched off after three days unless it recovers"),
            ),
        )

    def _endpoints(self, user: User | AnonymousUser) -> EndpointQuerySet:
        return Endpoint.objects.all().of_scopes(self.queue.scopes_seen_by(user))

    def _stuck(self, user: User | AnonymousUser) -> Iterator[Problem]:
        messages = OutboxMessage.objects.all().of_scopes(self.queue.scopes_seen_by(user))
        stuck = StuckRows.among(stuck_messages(messages))
        if stuck.count:
            yield Problem(
                part=MESSAGES.queue,
                kind=ProblemKind.STUCK,
                severity=Severity.WARNING,
                title=with_number(
                    ngettext("%(number)s message is stuck", "%(number)s messages are stuck", stuck.count), stuck.count
                ),
                cause=_("their worker's lease lapsed; the scheduled task outbox_recover takes them back"),
                count=stuck.count,
                since=stuck.worst[0].lease_until,
                link=self.list_address(status=MessageStatus.SENDING),
            )


def switched_off(endpoints: EndpointQuerySet) -> EndpointQuerySet:
    return endpoints.filter(is_on=False).exclude(off_reason=OffReason.OPERATOR)


def failing(endpoints: EndpointQuerySet) -> EndpointQuerySet:
    return endpoints.on().filter(failing_since__lt=Now() - FAILING_AFTER)


def stuck_messages(messages: OutboxMessageQuerySet) -> OutboxMessageQuerySet:
    lapsed = messages.filter(status=MessageStatus.SENDING, lease_until__lt=Now() - STUCK_AFTER)
    return lapsed.order_by("lease_until")


def _place(endpoint: Endpoint) -> Place:
    link = reverse("admin:outbox_endpoint_change", args=[endpoint.pk])
    return Place(str(endpoint), link=link, scope=endpoint.scope)


def _of_endpoint(endpoint: Endpoint, kind: ProblemKind, severity: Severity, **columns: Any) -> Problem:
    place = _place(endpoint)
    return Problem(
        part=MESSAGES.queue,
        kind=kind,
        name=str(endpoint.pk),
        severity=severity,
        where=[place],
        link=place.link,
        **columns,
    )


def _of_many(
    rows: EndpointQuerySet,
    first: list[Endpoint],
    kind: ProblemKind,
    severity: Severity,
    *,
    title: Callable[[int], str],
    cause: str,
) -> Problem:
    names = [str(pk) for pk in rows.order_by().values_list("pk", flat=True)]
    count = len(names)
    return Problem(
        part=MESSAGES.queue,
        kind=kind,
        severity=severity,
        title=title(count),
        cause=cause,
        count=count,
        where=[_place(endpoint) for endpoint in first[:MOST_NAMED]],
        beyond=count - MOST_NAMED,
        link=reverse("admin:outbox_endpoint_changelist"),
        stands_for=[problem_key(MESSAGES.queue, kind, name) for name in names],
    )
