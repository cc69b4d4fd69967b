"""An endpoint: a receiver's address, what it listens to, and the secrets that sign what it is sent."""

import secrets
from base64 import b64encode
from contextlib import suppress
from datetime import timedelta
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.access.encryption import decrypt, encrypt
from kilit.lock.audit import current_context
from kilit.lock.constraints import checks
from kilit.lock.identity import uuid7
from kilit.lock.prefixes import word_index
from kilit.outgoing.addresses import public_or_in
from kilit.outgoing.urls import InvalidUrl, parse_url
from kilit.sites.scopes import INSTALLATION, scopes_run_by, scopes_seen_by
from outbox.models.position import WEBHOOKS, LogPosition

SECRET_PREFIX = "whsec_"  # noqa: S105 - as Standard Webhooks has it
SECRET_BYTES = 32
SHORTEST_HIDDEN = 4  # characters of a value in a query: shorter ones are no secrets
LONGEST_URL = 2000
# For this long after a rotation, messages are signed with the previous secret too.
ROTATION = timedelta(hours=24)


class OffReason(models.TextChoices):
    OPERATOR = "OPERATOR", _("switched off by an operator")
    GONE = "GONE", _("the receiver answered 410 Gone")
    FAILING = "FAILING", _("it failed for three days")


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def on(self) -> Self:
        return self.filter(is_on=True)

    def visible_to(self, user: User | AnonymousUser) -> Self:
        return self.of_scopes(scopes_seen_by(user)) if user.has_perm("outbox.view_endpoint") else self.none()

    def managed_by(self, user: User | AnonymousUser) -> Self:
        """Return the endpoints of the sites that a user runs, and for owners those of the installation too."""
        return self.of_scopes(scopes_run_by(user)) if user.has_perm("outbox.operate_endpoint") else self.none()

    def usable_by(self, user: User | AnonymousUser) -> Self:
        scopes = scopes_seen_by(user)
        return self.on() if scopes is None else self.on().filter(scope__in=[INSTALLATION, *scopes])

    def change(self, **columns: Any) -> int:
        """Change columns; what was seen at an old address says nothing about a new one."""
        if url := columns.get("url"):
            self.exclude(url=url).update(failing_since=None, wait_until=None)
        return self.update(**columns)

    def switch_on(self) -> int:
        """Switch on what is off; messages that wait are sent, and events from now on are reported."""
        with transaction.atomic():
            _start_reading_now()
            on = {"is_on": True, "off_reason": "", "off_at": None, "off_by": "", "failing_since": None}
            return self.filter(is_on=False).update(**on, wait_until=None)

    def switch_off(self, reason: OffReason) -> int:
        off = {"is_on": False, "off_reason": reason, "off_at": Now(), "off_by": current_context().actor}
        return self.on().update(**off)

    def of_scopes(self, scopes: list[str] | None) -> Self:
        return self.all() if scopes is None else self.filter(scope__in=scopes)


class Endpoint(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    scope = models.CharField(
        _("site"), max_length=64, blank=True, help_text=_("Without a site, it belongs to the installation.")
    )
    url = models.CharField(_("address"), max_length=LONGEST_URL)
    kinds = ArrayField(models.CharField(max_length=64), verbose_name=_("events"), default=list, blank=True)
    description = models.CharField(_("description"), max_length=200, blank=True)
    is_on = models.BooleanField(_("on"), default=True, editable=False)
    off_reason = models.CharField(_("off because"), max_length=10, choices=OffReason, blank=True, editable=False)
    off_at = models.DateTimeField(_("off since"), null=True, editable=False)
    off_by = models.CharField(_("switched off by"), max_length=200, blank=True, editable=False)
    encrypted_secret = models.TextField(editable=False)
    previous_secret = models.TextField(blank=True, editable=False)
    previous_until = models.DateTimeField(null=True, editable=False)
    failing_since = models.DateTimeField(_("failing since"), null=True, editable=False)
    wait_until = models.DateTimeField(_("asked to wait until"), null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    objects = EndpointQuerySet.as_manager()

    class Meta:
        default_permissions = ("view", "add", "change", "delete", "operate")
        verbose_name, verbose_name_plural = _("webhook endpoint"), _("webhook endpoints")
        ordering = ["created_at"]
        constraints = [
            *checks(
                off_endpoint_has_reason=Q(is_on=True, off_reason="", off_at=None)
                | Q(~Q(off_reason=""), is_on=False, off_at__isnull=False),
                endpoint_has_secret=~Q(encrypted_secret=""),
                previous_secret_has_end=Q(previous_secret="", previous_until=None)
                | Q(~Q(previous_secret=""), previous_until__isnull=False),
            )
        ]
        indexes = [word_index("endpoint_words", "description")]  # for the search of the list

    def __str__(self) -> str:
        return self.description or self.shown_url

    def save(self, *args: Any, **options: Any) -> None:
        if not self._state.adding:
            super().save(*args, **options)
            return
        with transaction.atomic():
            if not self.encrypted_secret:
                self.make_secret()
            if self.is_on:
                _start_reading_now()
            super().save(*args, **options)

    @property
    def origin(self) -> str:
        return parse_url(self.url).origin

    @property
    def shown_url(self) -> str:
        return without_query(self.url)

    def make_secret(self) -> str:
        """Set a new secret and return its text; only the encrypted one is stored, and only when saved."""
        text = new_secret()
        self.encrypted_secret = encrypt(text)
        return text

    def rotate_secret(self) -> str:
        """Store a new secret and return its text; the old one signs too until the rotation is over."""
        with transaction.atomic():
            locked = Endpoint.objects.select_for_update().get(pk=self.pk)
            text, previous = new_secret(), locked.encrypted_secret
            Endpoint.objects.filter(pk=self.pk).update(
                encrypted_secret=encrypt(text), previous_secret=previous, previous_until=Now() + ROTATION
            )
        self.refresh_from_db()
        return text

    def secrets(self, now: Any) -> list[str]:
        valid = [self.encrypted_secret]
        if self.previous_until is not None and self.previous_until > now:
            valid.append(self.previous_secret)
        return [decrypt(secret) for secret in valid]


def check_url(url: str) -> None:
    """Raise InvalidUrl for an address that no endpoint may have; where a name leads is checked when it is called."""
    target, is_allowed = parse_url(url), True
    with suppress(ValueError):  # it is a name, not an address
        is_allowed = public_or_in(settings.WEBHOOK_PRIVATE_ADDRESSES)(target.host)
    if not is_allowed:
        raise InvalidUrl(gettext("The host is in a private network, which is not allowed."))
    if not (target.uses_tls or settings.DEBUG or settings.WEBHOOK_PRIVATE_ADDRESSES):
        raise InvalidUrl(gettext("Enter an https URL: over http, others could read the messages."))


def without_query(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" + ("?…" if parts.query else "")


def hide_query(text: str, url: str) -> str:
    """Return a text, such as a receiver's answer, without what it repeats of an address's query."""
    query = urlsplit(url).query
    values = (value for _name, value in parse_qsl(query))
    for secret in (query, *sorted(values, key=len, reverse=True)):
        text = text.replace(secret, "…") if len(secret) >= SHORTEST_HIDDEN else text
    return text


def new_secret() -> str:
    return SECRET_PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def last_event_id() -> int:
    """Return the highest id that an event was given, also one that is not committed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('lock_event', 'id')), 0)")
        return int(cursor.fetchone()[0])


def _start_reading_now() -> None:
    """Skip what happened while no endpoint was on; must run before one is.

    The position is locked first: of two endpoints that are switched on at once, the second sees the first and skips
    nothing of what the first is to receive.
    """
    LogPosition.objects.get_or_create(name=WEBHOOKS)
    position = LogPosition.objects.select_for_update().get(name=WEBHOOKS)
    if not Endpoint.objects.on().exists():
        end = last_event_id()
        LogPosition.objects.filter(pk=position.pk).update(event_id=end, horizon=end, writers=[])
