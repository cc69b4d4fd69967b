"""Channels: where people get alerts, and the rules that say which."""

from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.access.encryption import decrypt, encrypt
from kilit.access.roles import is_owner
from kilit.lock.constraints import checks
from kilit.lock.identity import uuid7
from kilit.problems.kinds import ProblemKind
from kilit.problems.models import ProblemRecord
from kilit.problems.registry import Severity


class ChannelKind(models.TextChoices):
    EMAIL = "email", _("E-mail")
    APPRISE = "apprise", _("Telegram, Slack, Teams, Discord, ntfy and others")


class ChannelQuerySet(models.QuerySet["Channel"]):
    def on(self) -> Self:
        """Return the channels that get alerts: switched on, and their owner can still log in."""
        return self.filter(Q(owner=None) | Q(owner__is_active=True), is_on=True)

    def managed_by(self, user: User | AnonymousUser) -> Self:
        return self.all() if is_owner(user) else self.filter(owner=user.pk)


class Channel(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=100)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Alerts contain only what this user may see. Without one, and for owners: everything."),
    )
    kind = models.CharField(_("kind"), max_length=8, choices=ChannelKind, default=ChannelKind.EMAIL)
    encrypted_address = models.TextField(editable=False)
    language = models.CharField(_("language"), max_length=8, choices=settings.LANGUAGES, default=settings.LANGUAGE_CODE)
    time_zone = models.CharField(_("time zone"), max_length=64, default=settings.TIME_ZONE)
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True)
    quiet_to = models.TimeField(_("quiet until"), null=True, blank=True)
    is_on = models.BooleanField(_("on"), default=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    # Problems that opened and closed before this time are not reported any more.
    looked_at = models.DateTimeField(db_default=Now(), editable=False)
    is_holding_back = models.BooleanField(default=False, editable=False, help_text="It is quiet: a digest follows.")
    sent_at = models.DateTimeField(_("last sent at"), null=True, editable=False)
    error = models.CharField(_("last error"), max_length=500, blank=True, editable=False)

    objects = ChannelQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("alert channel"), _("alert channels")
        default_permissions = ("view", "operate", "change")
        ordering = ["name"]
        constraints = [
            *checks(
                channel_has_address=~Q(encrypted_address=""),
                quiet_hours_have_both_ends=Q(quiet_from=None, quiet_to=None)
                | Q(quiet_from__isnull=False, quiet_to__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        return decrypt(self.encrypted_address)

    @address.setter
    def address(self, text: str) -> None:
        self.encrypted_address = encrypt(text)

    @property
    def reader(self) -> Any:
        """Return whose problems it reports; None for those of the whole installation."""
        return None if self.owner is None or is_owner(self.owner) else self.owner

    def is_quiet(self, now: datetime) -> bool:
        if self.quiet_from is None or self.quiet_to is None:
            return False
        time = now.astimezone(ZoneInfo(self.time_zone)).time()
        if self.quiet_from <= self.quiet_to:
            return self.quiet_from <= time < self.quiet_to
        return time >= self.quiet_from or time < self.quiet_to  # over midnight


class AlertRule(models.Model):
    """Which problems a channel reports; a channel without rules reports everything from warnings up."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="rules")
    part = models.CharField(_("queue"), max_length=32, blank=True, help_text=_("All if empty."))
    scope = models.CharField(_("site"), max_length=64, blank=True, help_text=_("All if empty."))
    kinds = ArrayField(
        models.CharField(max_length=32),
        verbose_name=_("problems"),
        default=list,
        blank=True,
        help_text=_("All if none is chosen."),
    )
    min_count = models.PositiveIntegerField(_("from this count"), default=1)
    min_severity = models.PositiveSmallIntegerField(_("from this severity"), default=Severity.WARNING.value)

    class Meta:
        verbose_name, verbose_name_plural = _("rule"), _("rules")
        default_permissions = ()
        ordering = ["id"]

    def __str__(self) -> str:
        return f"rule {self.pk}"

    def matches(self, record: ProblemRecord) -> bool:
        # What is old was reported when it was new.
        kinds = self.kinds or set(ProblemKind.values) - {ProblemKind.OLD_FAILURES}
        # Of a problem of many sites only some are named; better one alert too many than one too few.
        in_scope = not self.scope or self.scope in record.scopes or record.has_more_scopes
        return (
            self.part in ("", record.part)
            and in_scope
            and record.kind in kinds
            and record.count >= self.min_count
            and record.severity >= self.min_severity
        )


class AlertedProblem(models.Model):
    """An open problem that a channel has reported, and how large it was in its last message."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="+", db_index=False)
    record_id = models.UUIDField()  # not a foreign key: records are pruned
    count = models.PositiveIntegerField()

    class Meta:
        default_permissions = ()
        # A problem is reported once to a channel.
        constraints = [models.UniqueConstraint(fields=["channel", "record_id"], name="one_alert_per_problem")]

    def __str__(self) -> str:
        return f"{self.record_id} to {self.channel_id}"
