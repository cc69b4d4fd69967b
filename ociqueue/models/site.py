"""A site: an advertiser's account, its keys and its people."""

import secrets
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Self
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.access.models import ApiKey
from kilit.access.models.api_key import ApiKeyQuerySet
from kilit.access.roles import Role
from kilit.lock.identity import uuid7
from ociqueue.currencies import CURRENCIES
from ociqueue.states import SyncMethod

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

KEYS_USER_PREFIX = "site-"  # the user that a site's keys belong to is called so, and then its public id
MAY_ACT = (Role.OPERATOR, Role.ADMIN)
SILENT_AFTER = timedelta(hours=24)
NOTE_EXPORT = """
    UPDATE ociqueue_site SET last_export_at = now()
    WHERE id = %s AND (%s OR set_config('synchronous_commit', 'off', true) = 'off')
"""


def new_public_id() -> str:
    return secrets.token_hex(16)


def known_currency(code: str) -> None:
    """Refuse a currency that ISO 4217 does not have."""
    if code not in CURRENCIES:
        raise ValidationError(_("%(code)s is not a currency of ISO 4217; TRY is one."), params={"code": code})


def known_time_zone(name: str) -> None:
    """Refuse a zone that the time zone database does not have."""
    if name not in available_timezones():
        raise ValidationError(_("%(name)s is not a time zone; Europe/Istanbul is one."), params={"name": name})


class SiteQuerySet(models.QuerySet["Site"]):
    """Questions about sites and who may see them."""

    def seen_by(self, user: "AbstractBaseUser | AnonymousUser") -> Self:
        """Return the sites of a user; superusers see all."""
        return self._with_role(user, tuple(Role))

    def run_by(self, user: "AbstractBaseUser | AnonymousUser") -> Self:
        """Return the sites a user may act on."""
        return self._with_role(user, MAY_ACT)

    def scopes_seen_by(self, user: "AbstractBaseUser | AnonymousUser") -> list[str] | None:
        """Return the sites of a user as counts, error groups and bulk actions name them; none means all there are."""
        if getattr(user, "is_superuser", False):
            return None
        return [str(pk) for pk in self.seen_by(user).values_list("pk", flat=True)]

    def _with_role(self, user: "AbstractBaseUser | AnonymousUser", roles: tuple[Role, ...]) -> Self:
        if getattr(user, "is_superuser", False):
            return self.all()
        return self.filter(pk__in=SiteMembership.objects.filter(user=user.pk, role__in=roles).values("site"))

    def called(self, name: str) -> Self:
        """Return the site with this public id or uuid; nonsense names none."""
        named = models.Q(public_id=name)
        with suppress(ValueError):
            named |= models.Q(pk=UUID(name))
        return self.filter(named) if "\x00" not in name else self.none()


class Site(models.Model):
    """Where conversions come from and where they are sent."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    name = models.CharField(max_length=100)
    time_zone = models.CharField(
        max_length=64,
        default="Europe/Istanbul",
        validators=[known_time_zone],
        help_text=_("Conversion times are handed out in this zone, as in Europe/Istanbul."),
    )
    default_currency = models.CharField(
        max_length=3,
        blank=True,
        validators=[known_currency],
        help_text=_("For conversions that come without a currency; empty means they are refused."),
    )
    sync_method = models.CharField(max_length=10, choices=SyncMethod, default=SyncMethod.SCRIPT)
    is_paused = models.BooleanField(default=False, help_text=_("Nothing is handed out or sent while paused."))
    pause_reason = models.CharField(max_length=200, blank=True)
    requeue_transient = models.BooleanField(
        default=False, help_text=_("Let a sweep try rows again that failed for a passing reason.")
    )
    last_export_at = models.DateTimeField(null=True, editable=False)
    last_ack_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = SiteQuerySet.as_manager()

    class Meta:
        default_permissions = ("view", "add", "change", "operate")
        ordering = ["name"]
        constraints = [
            # An operator who finds a paused site wants to know why.
            models.CheckConstraint(
                condition=models.Q(is_paused=False) | ~models.Q(pause_reason=""), name="paused_has_reason"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.is_paused and not self.pause_reason.strip():
            raise ValidationError({"pause_reason": _("Say why the site is paused.")})

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which conversion times are handed out."""
        return ZoneInfo(self.time_zone)

    def issue_key(self, *, name: str) -> str:
        """Make a key for the site's script or backend; its text is shown this once."""
        with transaction.atomic():
            return ApiKey.objects.issue(self.service_user(), name=name)[1]

    def keys(self) -> ApiKeyQuerySet:
        """Return the site's keys, newest first; looking makes no user where no key was ever issued."""
        return ApiKey.objects.filter(user__username=f"{KEYS_USER_PREFIX}{self.public_id}").order_by("-created_at")

    def service_user(self) -> User:
        """Return the user that the site's keys belong to: a member like any other, without a password."""
        user, made = User.objects.get_or_create(username=f"{KEYS_USER_PREFIX}{self.public_id}")
        if made:
            user.set_unusable_password()
            user.save()
            SiteMembership.objects.create(site=self, user=user, role=Role.OPERATOR)
        return user

    def note_export(self) -> None:
        """Remember that the script pulled: a silent script is an alarm.

        It is not part of the claim, for which a second script would have to wait, and does not wait for the disk.
        """
        with connection.cursor() as cursor:
            cursor.execute(NOTE_EXPORT, [self.pk, connection.in_atomic_block])

    def note_ack(self) -> None:
        Site.objects.filter(pk=self.pk).update(last_ack_at=Now())


class SiteMembership(models.Model):
    """What a user may do with a site."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="site_memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)

    class Meta:
        # One role per person and site.
        constraints = [models.UniqueConstraint(fields=["site", "user"], name="one_membership_per_site")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.site}"
