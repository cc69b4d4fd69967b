"""A site: an advertiser's account, its API keys and its members."""

import secrets
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any, Self
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from pgtrigger import After, Condition, Trigger, Update

from kilit.access.key_scopes import DEFAULT_SCOPES
from kilit.access.models import ApiKey
from kilit.access.models.api_key import ApiKeyQuerySet
from kilit.access.roles import SITE_ROLES, Role, is_owner
from kilit.lock.audit import current_context, set_audit_context
from kilit.lock.constraints import checks
from kilit.lock.identity import uuid7
from ociqueue.models.site_events import RECORD_ARCHIVE, RECORD_PAUSE
from ociqueue.states import DeniedConsent, SyncMethod
from ociqueue.values.currencies import CURRENCIES

KEYS_USER_PREFIX = "site-"  # followed by the public id, the name of the user who owns a site's keys
MAY_ACT = (Role.OPERATOR, Role.ADMIN)
SILENT_AFTER = timedelta(hours=24)
NOTE_EXPORT = """
    UPDATE ociqueue_site SET last_export_at = now()
    WHERE id = %s AND (%s OR set_config('synchronous_commit', 'off', true) = 'off')
"""
# The columns of a pause, when there is none.
NOT_PAUSED: dict[str, object] = {"pause_reason": "", "paused_at": None, "paused_by": ""}


def new_public_id() -> str:
    return secrets.token_hex(16)


def known_currency(code: str) -> None:
    if code not in CURRENCIES:
        raise ValidationError(_("%(code)s is not an ISO 4217 currency code, such as TRY."), params={"code": code})


def is_time_zone(name: str) -> bool:
    """Refuse names that the database of zones has for no place: this machine's zone, and that of no one."""
    return name in available_timezones() - {"localtime", "Factory"}


def known_time_zone(name: str) -> None:
    if not is_time_zone(name):
        raise ValidationError(_("%(name)s is not a time zone, such as Europe/Istanbul."), params={"name": name})


def read_site_id(text: str) -> dict[str, Any]:
    """Return what may name a site: its public id, and its id if the text is a uuid."""
    found: dict[str, Any] = {"name": "" if "\x00" in text else text, "pk": None}
    with suppress(ValueError):
        found["pk"] = UUID(text)
    return found


class SiteQuerySet(models.QuerySet["Site"]):
    def seen_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        return self._with_role(user, SITE_ROLES)

    def run_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        return self.once_run_by(user).active()

    def once_run_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Return archived sites, too: no one acts on them, but their keys get an answer that says why."""
        return self._with_role(user, MAY_ACT)

    def administered_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        return self._with_role(user, (Role.ADMIN,))

    def scopes_seen_by(self, user: AbstractBaseUser | AnonymousUser) -> list[str] | None:
        """Return the ids of a user's sites, as counts, error groups and bulk actions store them; None means all."""
        if is_owner(user):
            return None
        return [str(pk) for pk in self.seen_by(user).values_list("pk", flat=True)]

    def scopes_shown_to(self, user: AbstractBaseUser | AnonymousUser) -> list[str] | None:
        """Return the same for dashboards: without archived sites, except for owners."""
        if is_owner(user):
            return None
        return [str(pk) for pk in self.seen_by(user).active().values_list("pk", flat=True)]

    def _with_role(self, user: AbstractBaseUser | AnonymousUser, roles: tuple[Role, ...]) -> Self:
        return self.all() if is_owner(user) else self.of_member(user.pk, roles)

    def of_member(self, user: int | RawSQL | None, roles: tuple[Role, ...]) -> Self:
        return self.filter(pk__in=SiteMembership.objects.filter(user=user, role__in=roles).values("site"))

    def pause(self, *, reason: str) -> int:
        """Stop exporting and sending for sites that are not paused yet, and store who paused them."""
        by = {"paused_at": Now(), "paused_by": current_context().actor}
        return self.filter(is_paused=False).update(is_paused=True, pause_reason=reason, **by)

    def resume(self) -> int:
        with transaction.atomic(using=self.db):
            set_audit_context(verb="", using=self.db)
            return self.active().filter(is_paused=True).update(is_paused=False, **NOT_PAUSED)

    def active(self) -> Self:
        return self.filter(archived_at=None)

    def with_id(self, text: str) -> Self:
        return self.with_ids(**read_site_id(text))

    def with_ids(self, name: str | RawSQL, pk: UUID | RawSQL | None) -> Self:
        return self.filter(models.Q(public_id=name) | models.Q(pk=pk))


class Site(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    public_id = models.CharField(_("public id"), max_length=32, unique=True, default=new_public_id, editable=False)
    name = models.CharField(_("name"), max_length=100)
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        default="Europe/Istanbul",
        validators=[known_time_zone],
        help_text=_("Conversion times are exported in this zone, such as Europe/Istanbul."),
    )
    default_currency = models.CharField(
        _("default currency"),
        max_length=3,
        blank=True,
        validators=[known_currency],
        help_text=_("For conversions without a currency; if it is empty, they are rejected."),
    )
    # That of the credentials where there are some; otherwise typed in, or as the script reported it.
    customer_id = models.CharField(
        _("customer id"),
        max_length=10,
        blank=True,
        default="",
        db_default="",
        help_text=_("Of the Google Ads account, as in 123-456-7890; shown beside the name."),
    )
    sync_method = models.CharField(_("sync method"), max_length=20, choices=SyncMethod, default=SyncMethod.SCRIPT)
    is_paused = models.BooleanField(
        _("is paused"), default=False, help_text=_("Nothing is exported or sent while the site is paused.")
    )
    pause_reason = models.CharField(_("pause reason"), max_length=200, blank=True)
    # Empty for sites that were paused by a version without these columns.
    paused_at = models.DateTimeField(_("paused at"), null=True, editable=False)
    paused_by = models.CharField(_("paused by"), max_length=200, blank=True, db_default="", editable=False)
    archived_at = models.DateTimeField(_("archived at"), null=True, editable=False)
    requeue_transient = models.BooleanField(
        _("requeue transient"), default=False, help_text=_("Retry TRANSIENT failures automatically.")
    )
    accepts_identifiers = models.BooleanField(
        _("accept hashed e-mail and phone"),
        default=False,
        db_default=False,
        help_text=_(
            "Conversions may carry an e-mail address or phone number. Kilit stores and sends only their hashes. Turn "
            "it on only if your customers have consented and the Google Ads account has accepted the customer data "
            "terms."
        ),
    )
    denied_consent = models.CharField(
        _("if consent is denied"),
        max_length=8,
        choices=DeniedConsent,
        default=DeniedConsent.WITHHOLD,
        db_default=DeniedConsent.WITHHOLD,
        help_text=_(
            "For conversions whose visitors do not let Google use their data for ads. Those that are not sent end as "
            "WITHHELD_CONSENT_DENIED, which is in no failure rate."
        ),
    )
    last_export_at = models.DateTimeField(_("last export at"), null=True, editable=False)
    last_ack_at = models.DateTimeField(_("last ack at"), null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    objects = SiteQuerySet.as_manager()

    class Meta:
        default_permissions = ("view", "add", "change", "operate")
        verbose_name, verbose_name_plural = _("site"), _("sites")
        ordering = ["name"]
        # Operators need to see why a site is paused.
        constraints = [
            *checks(
                paused_has_reason=models.Q(is_paused=False) | ~models.Q(pause_reason=""),
                # Whatever sends rows looks at the pause alone.
                archived_is_paused=models.Q(archived_at=None) | models.Q(is_paused=True),
            )
        ]
        triggers = [
            Trigger(
                name="record_archive",
                when=After,
                operation=Update,
                condition=Condition("OLD.archived_at IS DISTINCT FROM NEW.archived_at"),
                func=RECORD_ARCHIVE,
            ),
            Trigger(
                name="record_pause",
                when=After,
                operation=Update,
                condition=Condition("OLD.is_paused IS DISTINCT FROM NEW.is_paused"),
                func=RECORD_PAUSE,
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.is_paused and not self.pause_reason.strip():
            raise ValidationError({"pause_reason": _("Enter a reason for the pause.")})

    @property
    def customer(self) -> str:
        """Return the customer id as Google shows it."""
        digits = self.customer_id
        return f"{digits[:3]}-{digits[3:6]}-{digits[6:]}" if digits else ""

    @property
    def label(self) -> str:
        """Return what tells the site from others of a similar name."""
        return f"{self.name} · {self.customer}" if self.customer_id else self.name

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    def issue_key(self, *, name: str, scopes: Collection[str] = DEFAULT_SCOPES) -> str:
        """Create a key for the site's script or backend; only its hash is stored."""
        with transaction.atomic():
            return ApiKey.objects.issue(self.service_user(), name=name, scopes=scopes)[1]

    def keys(self) -> ApiKeyQuerySet:
        """Return the site's keys, newest first, without creating the user who owns them."""
        return ApiKey.objects.filter(user__username=self.keys_username).order_by("-created_at")

    @property
    def keys_username(self) -> str:
        return f"{KEYS_USER_PREFIX}{self.public_id}"

    def service_user(self) -> User:
        """Return the user who owns the site's keys: a member without a password."""
        unusable = {"password": make_password(None)}
        user, created = User.objects.get_or_create(username=self.keys_username, defaults=unusable)
        if created:
            SiteMembership.objects.create(site=self, user=user, role=Role.OPERATOR)
        return user

    def note_export(self) -> None:
        """Record that the script called; a script that stops calling raises an alarm.

        Not part of the claim, or two scripts would wait for each other; and it does not wait for the disk.
        """
        with connection.cursor() as cursor:
            cursor.execute(NOTE_EXPORT, [self.pk, connection.in_atomic_block])

    def note_ack(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ociqueue_site SET last_ack_at = statement_timestamp() WHERE id = %s", [self.pk])


class SiteMembership(models.Model):
    site = models.ForeignKey(Site, verbose_name=_("site"), on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="site_memberships"
    )
    role = models.CharField(
        _("role"), max_length=10, choices=[(role.value, role.label) for role in SITE_ROLES], default=Role.VIEWER
    )

    class Meta:
        verbose_name, verbose_name_plural = _("site membership"), _("site memberships")
        constraints = [
            # One role per person and site.
            models.UniqueConstraint(fields=["site", "user"], name="one_membership_per_site"),
            # Nobody becomes an owner of the installation by a membership.
            *checks(membership_has_role_of_a_site=models.Q(role__in=SITE_ROLES)),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.site}"
