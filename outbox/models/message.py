"""A message to one receiver: its text, state, lease, attempts and error are all in its row."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.column_guards import Counters
from kilit.lock.constraints import checks
from kilit.lock.failures import Failures, error_group_field
from kilit.lock.identity import first_at
from kilit.lock.leases import LeasedModel, LeasedQuerySet, new_lease, no_lease
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.pruning import cutoff_of
from kilit.lock.triggers import lifecycle_triggers
from kilit.sites.scopes import scopes_run_by, scopes_seen_by
from outbox.models.channel import Channel
from outbox.models.endpoint import LONGEST_URL, Endpoint, without_query
from outbox.states import ENDED, EXPIRES_AFTER, MAX_ATTEMPTS, MESSAGES, WAITING, MessageStatus

FAILURES = Failures(
    MESSAGES,
    states=[MessageStatus.FAILED],
    code="error_code",
    message="error_message",
    scope="scope",
    prunable=True,
)
# The longest attempt takes 15 s, and a batch is settled as a whole; then the worker counts as dead.
LEASE = timedelta(minutes=2)
NO_ERROR: dict[str, Any] = {"error_code": "", "error_message": "", "response_code": None}


class OutboxMessageQuerySet(LeasedQuerySet["OutboxMessage"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        may_view = user.has_perm("outbox.view_outboxmessage")
        return self.of_scopes(scopes_seen_by(user)) if may_view else self.none()

    def managed_by(self, user: User | AnonymousUser) -> Self:
        may_operate = user.has_perm("outbox.operate_outboxmessage")
        return self.of_scopes(scopes_run_by(user)) if may_operate else self.none()

    def of_scopes(self, scopes: list[str] | None) -> Self:
        return self.all() if scopes is None else self.filter(scope__in=scopes)

    def waiting(self) -> Self:
        return self.filter(status__in=WAITING)

    def due(self) -> Self:
        return self.waiting().filter(next_try_at__lte=Now())

    def claimable(self) -> Self:
        """Return what a worker may claim now: nothing while the queue is paused or the endpoint is off or must wait."""
        on = Endpoint.objects.on().filter(Q(wait_until=None) | Q(wait_until__lte=Now()), pk=OuterRef("endpoint"))
        return self.due().filter(Exists(on), is_not_paused(MESSAGES))

    def claimable_alerts(self) -> Self:
        """Return the alerts that a worker may claim now: nothing while the queue is paused or the channel is off."""
        on = Channel.objects.on().filter(pk=OuterRef("channel"))
        return self.due().filter(Exists(on), is_not_paused(MESSAGES), channel__isnull=False)

    def claim(self, *, limit: int) -> "list[OutboxMessage]":
        return self.claimable().take_leased(limit=limit)

    def claim_alerts(self, *, limit: int) -> "list[OutboxMessage]":
        return self.claimable_alerts().take_leased(limit=limit)

    def take_leased(self, *, limit: int) -> "list[OutboxMessage]":
        changes = {"attempt_count": F("attempt_count") + 1, **new_lease(LEASE)}
        return self.take("claim", limit=limit, order=("next_try_at", "id"), **changes)

    def recover(self) -> int:
        """Take messages back from workers that died or hang; their receivers may get them twice, under one id."""
        lost = self.filter(status=MessageStatus.SENDING).lapsed()
        error = {"error_code": "WORKER_LOST", "error_message": "The worker's lease ran out.", **no_lease()}
        used_up = lost.filter(attempt_count__gte=F("attempts_forgiven") + MAX_ATTEMPTS).move("fail", **error)
        return used_up + lost.move("recover", next_try_at=Now(), **error)

    def expire(self) -> int:
        """Fail what waited too long, for an endpoint or channel that is off."""
        off = Exists(Endpoint.objects.filter(pk=OuterRef("endpoint"), is_on=False))
        no_channel = Q(channel__isnull=False) & ~Exists(Channel.objects.on().filter(pk=OuterRef("channel")))
        cutoff = cutoff_of(EXPIRES_AFTER)
        # Ids grow with time, so the first condition bounds the index scan.
        old = self.waiting().filter(off | no_channel, pk__lt=first_at(cutoff), updated_at__lt=cutoff)
        error = {"error_code": "EXPIRED", "error_message": "It waited too long; its receiver was switched off."}
        return old.move("expire", **error)

    def retry(self) -> set[UUID]:
        """Send failed messages again for an operator, with all attempts of the schedule."""
        return self.move_each("retry", next_try_at=Now(), attempts_forgiven=F("attempt_count"), **NO_ERROR)

    def replay(self) -> set[UUID]:
        """Send messages again that have ended, delivered ones too; their ids stay, so receivers can recognise them."""
        fresh = {"attempts_forgiven": F("attempt_count"), "delivered_at": None}
        return self.move_each("replay", next_try_at=Now(), **fresh, **NO_ERROR)

    def mark_failed(self) -> set[UUID]:
        return self.move_each("mark_failed", error_code="MARKED_FAILED", error_message="Marked failed by an operator.")


class OutboxMessage(LeasedModel):
    lifecycle = MESSAGES

    # A message goes to an endpoint, or it is an alert and goes to a channel.
    endpoint = models.ForeignKey(
        Endpoint,
        verbose_name=_("endpoint"),
        on_delete=models.PROTECT,
        null=True,
        related_name="messages",
        db_index=False,
    )
    channel = models.ForeignKey(
        Channel,
        verbose_name=_("channel"),
        on_delete=models.PROTECT,
        null=True,
        related_name="messages",
        db_index=False,
    )
    status = models.CharField(max_length=10, choices=MessageStatus, default=MessageStatus.QUEUED, editable=False)
    kind = models.CharField(_("event"), max_length=64)
    scope = models.CharField(_("site"), max_length=64, blank=True)
    url = models.CharField(
        _("address"), max_length=LONGEST_URL, blank=True, help_text=_("Of a callback; otherwise the endpoint's.")
    )
    event_id = models.BigIntegerField(null=True, help_text=_("The event that it reports."))
    object_id = models.UUIDField(_("job"), null=True)
    body = models.TextField(_("body"), help_text=_("The same bytes are sent with each attempt."))
    attempt_count = models.PositiveIntegerField(_("attempts"), default=0)
    attempts_forgiven = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(_("next attempt at"), db_default=Now())
    response_code = models.PositiveSmallIntegerField(_("status code"), null=True)
    error_code = models.CharField(_("error code"), max_length=32, blank=True)
    error_message = models.CharField(_("error"), max_length=500, blank=True)
    error_group = error_group_field()
    delivered_at = models.DateTimeField(_("delivered at"), null=True)

    objects = OutboxMessageQuerySet.as_manager()

    class Meta(LeasedModel.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("message"), _("messages")
        triggers = [
            *lifecycle_triggers(
                MESSAGES,
                scope="scope",
                facts=["attempt_count", "response_code", "error_code", "error_message"],
                facts_of_new=False,
                finished=ENDED,
                fixed=["endpoint_id", "channel_id", "url", "kind", "scope", "event_id", "object_id"],
                counters=Counters(raised_by={"attempt_count": "claim"}, never_down=["attempts_forgiven"]),
            ),
            *FAILURES.triggers(),
        ]
        constraints = [
            # An event is reported once to an endpoint, and once to the address of each callback.
            models.UniqueConstraint(fields=["event_id", "endpoint", "url"], name="one_message_per_event"),
            *checks(
                sending_message_is_held=Q(
                    status=MessageStatus.SENDING, claim_token__isnull=False, lease_until__isnull=False
                )
                | ~Q(status=MessageStatus.SENDING) & Q(claim_token=None, lease_until=None),
                only_delivered_message_has_time=Q(status=MessageStatus.DELIVERED, delivered_at__isnull=False)
                | ~Q(status=MessageStatus.DELIVERED) & Q(delivered_at=None),
                message_has_one_receiver=Q(endpoint__isnull=False, channel=None)
                | Q(endpoint=None, channel__isnull=False),
                failed_message_has_error=~Q(status=MessageStatus.FAILED) | ~Q(error_code=""),
                # Whatever the code does, no message is sent endlessly.
                message_attempts_are_bounded=Q(attempt_count__lte=F("attempts_forgiven") + MAX_ATTEMPTS),
            ),
        ]
        indexes = [
            # Claims: the messages of an endpoint whose turn it is.
            models.Index(fields=["endpoint", "next_try_at", "id"], condition=Q(status__in=WAITING), name="message_due"),
            # Claims of alerts.
            models.Index(
                fields=["next_try_at", "id"],
                condition=Q(status__in=WAITING, channel__isnull=False),
                name="message_alert_due",
            ),
            # A channel's page.
            models.Index(fields=["channel", "id"], condition=Q(channel__isnull=False), name="message_of_channel"),
            # Messages in flight, counted by endpoint.
            models.Index(fields=["endpoint"], condition=Q(status=MessageStatus.SENDING), name="message_in_flight"),
            # The sweep: leases that ran out.
            models.Index(fields=["lease_until"], condition=Q(status=MessageStatus.SENDING), name="message_held"),
            # Lists of a state, endpoint, site or kind, and the messages about a job.
            models.Index(fields=["status", "id"], name="message_in_status"),
            models.Index(fields=["endpoint", "id"], name="message_of_endpoint"),
            models.Index(fields=["scope", "id"], name="message_of_scope"),
            models.Index(fields=["kind", "id"], name="message_of_kind"),
            models.Index(fields=["object_id", "id"], name="message_of_job"),
            # The failed messages of an endpoint, counted on its page.
            models.Index(
                fields=["endpoint", "id"], condition=Q(status=MessageStatus.FAILED), name="message_failed_of_endpoint"
            ),
            FAILURES.index("message_of_error_group"),
        ]

    @property
    def webhook_id(self) -> str:
        """Return what identifies the message to its receiver, on every attempt."""
        return f"msg_{self.pk.hex}"

    @property
    def address(self) -> str:
        """Return where a webhook goes; a channel's address is secret, and has no place here."""
        return self.url or (self.endpoint.url if self.endpoint else "")

    @property
    def shown_address(self) -> str:
        return without_query(self.address) if self.address else ""

    @property
    def receiver(self) -> "Endpoint | Channel | None":
        return self.endpoint or self.channel


def about(objects: Collection[UUID]) -> Q:
    """Match the messages about some jobs, and all alerts, which are few."""
    return Q(object_id__in=objects) | Q(channel__isnull=False)


def attempts_about(objects: Collection[UUID]) -> Q:
    return Q(message_id__in=OutboxMessage.objects.filter(about(objects)).values("pk"))


def jobs_of(messages: models.QuerySet[OutboxMessage]) -> Iterable[UUID | None]:
    return messages.values_list("object_id", flat=True)


def jobs_of_attempts(attempts: models.QuerySet[Any]) -> Iterable[UUID | None]:
    return jobs_of(OutboxMessage.objects.filter(pk__in=attempts.values("message_id")))
