"""What was refused: who tried what, kept for a while, and small however hard somebody tries."""

import logging
from datetime import timedelta
from typing import Any, Self

import pgtrigger
from django.conf import settings
from django.db import DatabaseError, connection, models
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import strip_control_chars
from kilit.lock.triggers import never

logger = logging.getLogger("kilit.refused")

MOST_A_MINUTE = 20  # different rows of one actor; what comes beyond is counted in one row
LEAST_KEPT_FOR = timedelta(days=7)  # the trigger below says the same

# One statement: two processes that refuse the same at once count on the same row.
NOTE = """
    INSERT INTO access_deniedrequest AS refused
      (minute, actor, address, method, path, code, detail, times, first_at, last_at)
    SELECT minute, %(actor)s,
      CASE WHEN few THEN %(address)s ELSE '' END, CASE WHEN few THEN %(method)s ELSE '' END,
      CASE WHEN few THEN %(path)s ELSE '' END, CASE WHEN few THEN %(code)s ELSE 'MANY' END,
      CASE WHEN few THEN %(detail)s ELSE '' END, 1, now(), now()
    FROM (SELECT date_trunc('minute', now()) AS minute) AS clock,
      LATERAL (SELECT count(*) < %(most)s AS few FROM access_deniedrequest AS earlier
        WHERE earlier.minute = clock.minute AND earlier.actor = %(actor)s) AS room
    ON CONFLICT (minute, actor, address, method, path, code)
      DO UPDATE SET times = refused.times + 1, last_at = greatest(refused.last_at, excluded.last_at)
    RETURNING times
"""


class DenialCode(models.TextChoices):
    FORBIDDEN = "FORBIDDEN", _("may not do this")
    NOT_YOURS = "NOT_YOURS", _("not theirs, answered as not existing")
    CSRF = "CSRF", _("form not sent from our own page")
    ENDED_KEY = "ENDED_KEY", _("key expired or revoked")
    LOCKED_OUT = "LOCKED_OUT", _("too many wrong passwords")
    MANY = "MANY", _("further refusals of this minute")


class DeniedRequestQuerySet(models.QuerySet["DeniedRequest"]):
    """Writes refusals down, and forgets old ones."""

    def note(
        self, *, actor: str, method: str, path: str, code: DenialCode, detail: str = "", address: str = ""
    ) -> None:
        """Count a refusal and log it; a database that does not answer must not turn a refusal into a fault."""
        told = {"code": str(code), "method": method, "path": path, "detail": detail}
        logger.warning("refused", extra=told)
        columns = {name: strip_control_chars(text)[: LENGTHS[name]] for name, text in told.items()}
        try:
            with connection.cursor() as cursor:
                who: dict[str, Any] = {
                    "actor": strip_control_chars(actor)[: LENGTHS["actor"]],
                    "address": address,
                    "most": MOST_A_MINUTE,
                }
                cursor.execute(NOTE, {**columns, **who})
        except DatabaseError:
            logger.exception("a refusal could not be kept")

    def old(self) -> Self:
        """Return what has been kept long enough."""
        return self.filter(minute__lt=Now() - settings.KEEP_REFUSALS_FOR)

    def forget_old(self) -> int:
        """Delete what has been kept long enough."""
        return self.old().delete()[0]


class DeniedRequest(models.Model):
    """What one actor was refused in one minute, and how often; only its counter ever changes."""

    minute = models.DateTimeField()
    actor = models.CharField(_("who"), max_length=200)
    address = models.CharField(_("address"), max_length=45, blank=True)
    method = models.CharField(_("method"), max_length=10, blank=True)
    path = models.CharField(_("what"), max_length=300, blank=True)
    code = models.CharField(_("why"), max_length=20, choices=DenialCode)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    times = models.IntegerField(_("times"))
    first_at = models.DateTimeField(_("first"))
    last_at = models.DateTimeField(_("last"))

    objects = DeniedRequestQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        verbose_name, verbose_name_plural = _("refusal"), _("refusals")
        constraints = [
            # A flood counts on one row; the sweep finds the oldest by the same index.
            models.UniqueConstraint(
                fields=["minute", "actor", "address", "method", "path", "code"], name="one_refusal_per_minute"
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="only_counts",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                func="""
                IF NEW.times <> OLD.times + 1
                  OR to_jsonb(NEW) - '{times,last_at}'::text[] <> to_jsonb(OLD) - '{times,last_at}'::text[]
                THEN RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'refusals cannot be changed',
                  HINT = 'They are only counted.';
                END IF;
                RETURN NEW;
                """,
            ),
            pgtrigger.Trigger(
                name="kept_a_week",
                when=pgtrigger.Before,
                operation=pgtrigger.Delete,
                func="""
                IF OLD.minute > now() - interval '7 days'
                THEN RAISE EXCEPTION USING ERRCODE = 'check_violation',
                  MESSAGE = 'refusals are kept for a week at least',
                  HINT = 'The sweep forget_denied_requests deletes the old ones.';
                END IF;
                RETURN OLD;
                """,
            ),
            *never(pgtrigger.Truncate, subject="refusals", hint="They are a witness."),
        ]

    def __str__(self) -> str:
        return f"{self.actor}: {self.method} {self.path}"


LENGTHS = {field.name: field.max_length for field in DeniedRequest._meta.fields if field.max_length}


def mark_denied(request: HttpRequest, code: DenialCode, detail: str = "") -> None:
    """Leave word that something in this request was refused although its answer is an ordinary page."""
    marks: Any = request
    marks.refused_as = (code, detail)


def forget_denied_requests() -> str:
    """Delete refusals that were kept long enough."""
    return f"Forgot {DeniedRequest.objects.forget_old()}."
