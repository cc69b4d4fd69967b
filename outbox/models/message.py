"""A message to one receiver: its text, state, lease, attempts and error are all in its row."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kilit.lock.attempts import (
    ATTEMPT_COUNTERS,
    RetriedModel,
    RetriedQuerySet,
    Schedule,
    attempt_checks,
    attempt_indexes,
)
from kilit.lock.constraints import checks
from kilit.lock.failures import Failures
from kilit.lock.identity import first_at
from kilit.lock.pruning import cutoff_of
from kilit.lock.triggers import lifecycle_triggers
from kilit.sentences import sentence
from kilit.sites.scopes import scopes_run_by, scopes_seen_by
from outbox.models.channel import Channel
from outbox.models.endpoint import LONGEST_URL, Endpoint, without_query
from outbox.states import ENDED, EXPIRES_AFTER, MESSAGES, RETRY_AFTER, WAITING, MessageStatus

FAILURES = Failures(MESSAGES, scope="scope", prunable=True)
SCHEDULE = Schedule(RETRY_AFTER)
WAITED_TOO_LONG = sentence("WAITED_TOO_LONG", gettext_noop("It waited too long; its receiver was switched off."))


class OutboxMessageQuerySet(RetriedQuerySet["OutboxMessage"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        may_view = user.has_perm("outbox.view_outboxmessage")
        return self.of_scopes(scopes_seen_by(user)) if may_view else self.none()

    def managed_by(self, user: User | AnonymousUser) -> Self:
        may_operate = user.has_perm("outbox.operate_outboxmessage")
        return self.of_scopes(scopes_run_by(user)) if may_operate else self.none()

    def of_scopes(self, scopes: list[str] | None) -> Self:
        return self.all() if scopes is None else self.filter(scope__in=scopes)

    def claimable(self) -> Self:
        """Leave out messages whose endpoint is off or must wait."""
        on = Endpoint.objects.on().filter(Q(wait_until=None) | Q(wait_until__lte=Now()), pk=OuterRef("endpoint"))
        return super().claimable().filter(Exists(on))

    def claimable_alerts(self) -> Self:
        on = Channel.objects.on().filter(pk=OuterRef("channel"))
        return super().claimable().filter(Exists(on), channel__isnull=False)

    def claim_alerts(self, *, limit: int) -> "list[OutboxMessage]":
        return self.claimable_alerts().take_leased(limit=limit)

    def expire(self) -> int:
        """Fail what waited too long, for an endpoint or channel that is off."""
        off = Exists(Endpoint.objects.filter(pk=OuterRef("endpoint"), is_on=False))
        no_channel = Q(channel__isnull=False) & ~Exists(Channel.objects.on().filter(pk=OuterRef("channel")))
        cutoff = cutoff_of(EXPIRES_AFTER)
        # Ids grow with time, so the first condition bounds the index scan.
        old = self.waiting().filter(off | no_channel, pk__lt=first_at(cutoff), updated_at__lt=cutoff)
        error = {"error_code": "EXPIRED", "error_message": WAITED_TOO_LONG.stored}
        return old.move("expire", **error)

    def replay(self) -> set[UUID]:
        """Send messages again that have ended, delivered ones too; their ids stay, so receivers can recognise them."""
        return self.start_over("replay", delivered_at=None)

    def send_now(self) -> set[UUID]:
        """Send messages at once that wait for their next attempt, which counts as usual."""
        return self.move_each("send_now", next_try_at=Now())


class OutboxMessage(RetriedModel):
    lifecycle = MESSAGES
    schedule = SCHEDULE
    # The longest attempt takes 15 s, and a batch is settled as a whole.
    lease_length = timedelta(minutes=2)

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
    response_code = models.PositiveSmallIntegerField(_("status code"), null=True)
    delivered_at = models.DateTimeField(_("delivered at"), null=True)

    objects = OutboxMessageQuerySet.as_manager()

    class Meta(RetriedModel.Meta):
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
                counters=ATTEMPT_COUNTERS,
            ),
            *FAILURES.triggers(),
        ]
        constraints = [
            # An event is reported once to an endpoint, and once to the address of each callback.
            models.UniqueConstraint(fields=["event_id", "endpoint", "url"], name="one_message_per_event"),
            *attempt_checks(MESSAGES, SCHEDULE),
            *checks(
                only_delivered_message_has_time=Q(status=MessageStatus.DELIVERED, delivered_at__isnull=False)
                | ~Q(status=MessageStatus.DELIVERED) & Q(delivered_at=None),
                message_has_one_receiver=Q(endpoint__isnull=False, channel=None)
                | Q(endpoint=None, channel__isnull=False),
            ),
        ]
        indexes = [
            *attempt_indexes(MESSAGES, before=("endpoint",)),
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
            # Lists of an endpoint, site or kind, and the messages about a job.
            models.Index(fields=["endpoint", "id"], name="message_of_endpoint"),
            models.Index(fields=["scope", "id"], name="message_of_scope"),
            models.Index(fields=["kind", "id"], name="message_of_kind"),
            models.Index(fields=["object_id", "id"], name="message_of_job"),
            # The failed messages of an endpoint, counted on its page.
            models.Index(
                fields=["endpoint", "id"], condition=Q(status=MessageStatus.FAILED), name="message_failed_of_endpoint"
            ),
            FAILURES.index(),
        ]

    @classmethod
    def fresh(cls) -> dict[str, Any]:
        return {**super().fresh(), "response_code": None}

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
