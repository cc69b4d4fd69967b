"""A site: the tenant that queues keep rows for, with its API keys and members. A queue's own columns are in a child."""

import secrets
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Self, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import models, transaction
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
from kilit.lock.prefixes import word_index
from kilit.sites.site_events import RECORD_ARCHIVE, RECORD_PAUSE

KEYS_USER_PREFIX = "site-"  # followed by the public id, the name of the user who owns a site's keys
MAY_ACT = (Role.OPERATOR, Role.ADMIN)
# The columns of a pause, when there is none.
NOT_PAUSED: dict[str, object] = {"pause_reason": "", "paused_at": None, "paused_by": ""}
AnySite = TypeVar("AnySite", bound="Tenant")


def new_public_id() -> str:
    return secrets.token_hex(16)


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


class SiteQuerySet(models.QuerySet[AnySite]):
    """Questions about sites, and about those of a queue."""

    def seen_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        return self._with_role(user, SITE_ROLES)

    def run_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        return self.once_run_by(user).active()

    def once_run_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Return archived sites, too: no one acts on them, but their keys get an answer that says why."""
        return self._with_role(user, MAY_ACT)

    def administered_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        return self._with_role(user, (Role.ADMIN,))

    def _with_role(self, user: AbstractBaseUser | AnonymousUser, roles: tuple[Role, ...]) -> Self:
        return self.all() if is_owner(user) else self.of_member(user.pk, roles)

    def of_member(self, user: int | RawSQL | None, roles: tuple[Role, ...]) -> Self:
        return self.filter(pk__in=SiteMembership.objects.filter(user=user, role__in=roles).values("site"))

    def active(self) -> Self:
        return self.filter(archived_at=None)

    def with_id(self, text: str) -> Self:
        return self.with_ids(**read_site_id(text))

    def with_ids(self, name: str | RawSQL, pk: UUID | RawSQL | None) -> Self:
        return self.filter(models.Q(public_id=name) | models.Q(id=pk))


class TenantQuerySet(SiteQuerySet["Tenant"]):
    """The verbs. Not for querysets of a queue's sites: their UPDATE would not repeat the conditions."""

    def pause(self, *, reason: str) -> int:
        """Stop exporting and sending for sites that are not paused yet, and store who paused them."""
        by = {"paused_at": Now(), "paused_by": current_context().actor}
        return self.filter(is_paused=False).update(is_paused=True, pause_reason=reason, **by)

    def resume(self) -> int:
        with transaction.atomic(using=self.db):
            set_audit_context(verb="", using=self.db)
            return self.active().filter(is_paused=True).update(is_paused=False, **NOT_PAUSED)

    def archive(self, *, reason: str) -> int:
        """Take sites out of use, and pause them, so that nothing is sent whatever arrives; their rows stay."""
        by = {"paused_at": Now(), "paused_by": current_context().actor}
        with transaction.atomic(using=self.db):
            set_audit_context(verb="", using=self.db)
            return self.active().update(archived_at=Now(), is_paused=True, pause_reason=reason, **by)

    def restore(self) -> int:
        """Bring archived sites back; they stay paused until an operator resumes them."""
        with transaction.atomic(using=self.db):
            set_audit_context(verb="", using=self.db)
            return self.filter(archived_at__isnull=False).update(archived_at=None)


class Tenant(models.Model):
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
    is_paused = models.BooleanField(
        _("is paused"), default=False, help_text=_("Nothing is exported or sent while the site is paused.")
    )
    pause_reason = models.CharField(_("pause reason"), max_length=200, blank=True)
    paused_at = models.DateTimeField(_("paused at"), null=True, editable=False)
    paused_by = models.CharField(_("paused by"), max_length=200, blank=True, db_default="", editable=False)
    archived_at = models.DateTimeField(_("archived at"), null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_permissions = ()  # a queue's sites have them
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
        indexes = [word_index("site_words", "name")]  # for the search of the list
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
    def label(self) -> str:
        """Return what tells the site from others of a similar name."""
        return self.name

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


class SiteMembership(models.Model):
    site = models.ForeignKey(Tenant, verbose_name=_("site"), on_delete=models.CASCADE, related_name="memberships")
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
