"""API keys: hashed at rest, shown once, revocable, several per user; and how often each is used.

A key is 256 random bits, so one round of SHA-256 is as safe as a slow hash, and lets an index find the row.
"""

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.access.key_scopes import DEFAULT_SCOPES, KeyScope
from kilit.database.sql import read_row
from kilit.lock.constraints import checks
from kilit.lock.outages import bookkeeping
from kilit.lock.prefixes import word_index

PREFIX = "kilit_"

# One statement counts and returns, so two processes never both get the last request of the limit.
# It does not wait for the disk: after a crash of the server, a minute's count may be too low.
HIT = """
    INSERT INTO access_ratewindow AS rate (name, minute, hits)
    SELECT %s, date_trunc('minute', now()), 1 WHERE %s OR set_config('synchronous_commit', 'off', true) = 'off'
    ON CONFLICT (name) DO UPDATE SET
      hits = CASE WHEN rate.minute = excluded.minute THEN rate.hits + 1 ELSE 1 END, minute = excluded.minute
    RETURNING hits, ceil(extract(epoch FROM minute + interval '1 minute' - now()))::int
"""
CURRENT = """
    SELECT coalesce(max(hits), 0),
      ceil(extract(epoch FROM date_trunc('minute', now()) + interval '1 minute' - now()))::int
    FROM access_ratewindow WHERE name = %s AND minute = date_trunc('minute', now())
"""


def default_scopes() -> list[str]:
    return [*DEFAULT_SCOPES]


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def issue(
        self, user: User, *, name: str, scopes: Collection[str] = DEFAULT_SCOPES, expires_at: datetime | None = None
    ) -> tuple["ApiKey", str]:
        """Return a new key and its text, which is not stored."""
        key = self.model(user=user, name=name, scopes=list(scopes), expires_at=expires_at)
        text = key.make_text()
        key.save()
        return key, text

    def valid(self) -> Self:
        return self.filter(
            models.Q(expires_at=None) | models.Q(expires_at__gt=Now()), revoked_at=None, user__is_active=True
        )

    def holding(self, text: str) -> "ApiKey | None":
        return self.with_digest(digest(text)).first()

    def with_digest(self, hashed: str | RawSQL) -> Self:
        return self.valid().filter(digest=hashed).select_related("user")

    def revoke(self) -> int:
        """Keys revoked earlier keep their time."""
        return self.filter(revoked_at=None).update(revoked_at=Now())


class ApiKey(models.Model):
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys", verbose_name=_("user")
    )
    name = models.CharField(_("name"), max_length=100, help_text=_("What uses this key."))
    scopes = ArrayField(
        models.CharField(max_length=16),
        verbose_name=_("scopes"),
        default=default_scopes,
        # The version before scopes stores keys while this one is installed, and they could do everything.
        db_default=DEFAULT_SCOPES,
        help_text=_("What the key may be used for."),
    )
    hint = models.CharField(_("hint"), max_length=4, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    used_at = models.DateTimeField(_("used at"), null=True, editable=False)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("API key"), _("API keys")
        default_permissions = ("view", "add", "change")
        # Of the group of owners (kilit.access.roles), and not about keys: a permission needs some model.
        permissions = [("own_installation", "Can manage what belongs to the installation")]
        constraints = [
            *checks(
                # A key without a scope would be of no use, and an unknown one would look as if it allowed something.
                key_has_known_scopes=models.Q(scopes__len__gt=0, scopes__contained_by=KeyScope.values),
                # A key that manages sites and people is in no program that does something else, and ends by itself.
                admin_key_is_separate_and_expires=~models.Q(scopes__contains=[KeyScope.ADMIN.value])
                | models.Q(scopes=[KeyScope.ADMIN.value], expires_at__isnull=False),
            )
        ]
        indexes = [word_index("key_words", "name")]  # for the search of the list

    def __str__(self) -> str:
        return f"{self.name} (…{self.hint})"

    def make_text(self) -> str:
        """Set a new text, and return it; only its hash is stored."""
        text = PREFIX + secrets.token_urlsafe(32)
        self.hint, self.digest = text[-4:], digest(text)
        return text


class RateWindow(models.Model):
    """Requests of a key, or wrong guesses of an address, in the current minute, counted across all processes."""

    name = models.CharField(max_length=128, primary_key=True)
    minute = models.DateTimeField()
    hits = models.IntegerField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.hits}"

    @classmethod
    def hit(cls, name: str) -> tuple[int, int]:
        """Count a request; return this minute's count, and the seconds until the next minute."""
        with bookkeeping():  # a surrounding transaction keeps its durability
            hits, seconds = read_row(HIT, [name, connection.in_atomic_block])
        return hits, seconds

    @classmethod
    def current(cls, name: str) -> tuple[int, int]:
        """Return what `hit` would, without counting."""
        hits, seconds = read_row(CURRENT, [name])
        return hits, seconds

    @classmethod
    def forget_old(cls) -> int:
        """Delete what no longer counts: there is a row for each address that guessed."""
        return cls.objects.filter(minute__lt=Now() - timedelta(hours=1)).delete()[0]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
