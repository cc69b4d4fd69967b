"""Denied requests: who tried what. The table stays small however many requests are denied."""

import logging
from typing import Any, Self

import pgtrigger
from django.conf import settings
from django.db import DatabaseError, models
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kilit.database.sql import execute
from kilit.lock.audit import person_in_sql
from kilit.lock.models import Activity
from kilit.lock.outages import bookkeeping
from kilit.lock.prefixes import word_index
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import never
from kilit.masking import mask_identifiers

logger = logging.getLogger("kilit.denied")

MAX_PER_MINUTE = 20  # different rows of one actor; what comes after them is counted in one row

# One statement, so that two processes that deny the same request at once count on the same row.
RECORD = """
    INSERT INTO access_deniedrequest AS denied
      (minute, actor, address, method, path, code, detail, times, first_at, last_at)
    SELECT minute, %(actor)s,
      CASE WHEN few THEN %(address)s ELSE '' END, CASE WHEN few THEN %(method)s ELSE '' END,
      CASE WHEN few THEN %(path)s ELSE '' END, CASE WHEN few THEN %(code)s ELSE 'MANY' END,
      CASE WHEN few THEN %(detail)s ELSE '' END, 1, now(), now()
    FROM (SELECT date_trunc('minute', now()) AS minute) AS clock,
      LATERAL (SELECT count(*) < %(most)s AS few FROM access_deniedrequest AS earlier
        WHERE earlier.minute = clock.minute AND earlier.actor = %(actor)s) AS room
    ON CONFLICT (minute, actor, address, method, path, code)
      DO UPDATE SET times = denied.times + 1, last_at = greatest(denied.last_at, excluded.last_at)
    RETURNING times
"""

# The activity shows it once; how often it was repeated is counted here.
ACTIVITY = """
    INSERT INTO lock_activity (kind, actor, person, verb, object_id, object_name, message, created_at)
    VALUES ('denied', NEW.actor,
      PERSON,
      NEW.code, NEW.id, left(btrim(NEW.method || ' ' || NEW.path), 300), NEW.detail, NEW.first_at);
    RETURN NULL;
""".replace("PERSON", person_in_sql("NEW.actor"))


class DenialCode(models.TextChoices):
    FORBIDDEN = "FORBIDDEN", _("no permission")
    NOT_YOURS = "NOT_YOURS", _("belongs to someone else; shown as not found")
    CSRF = "CSRF", _("CSRF check failed")
    ENDED_KEY = "ENDED_KEY", _("key expired or revoked")
    LOCKED_OUT = "LOCKED_OUT", _("too many wrong passwords")
    MANY = "MANY", _("further denied requests in this minute")


class DeniedRequestQuerySet(models.QuerySet["DeniedRequest"]):
    def record(
        self, *, actor: str, method: str, path: str, code: DenialCode, detail: str = "", address: str = ""
    ) -> None:
        """Count and log a denied request; when the database is down, the caller still gets its 403."""
        # Anyone may write anything into an address, and the record cannot be changed.
        path, detail = map(mask_identifiers, (path, detail))
        values = {"code": str(code), "method": method, "path": path, "detail": detail}
        logger.warning("request denied", extra=values)
        columns = {
            name: strip_control_chars(text)[: LENGTHS[name]] for name, text in {**values, "actor": actor}.items()
        }
        try:
            with bookkeeping():
                execute(RECORD, {**columns, "address": address, "most": MAX_PER_MINUTE})
        except DatabaseError:
            logger.exception("could not record a denied request")

    def old(self) -> Self:
        return self.filter(minute__lt=Now() - settings.KEEP_DENIED_REQUESTS_FOR)

    def forget_old(self) -> int:
        Activity.objects.forget_old(before=Now() - settings.KEEP_DENIED_REQUESTS_FOR)
        return self.old().delete()[0]


class DeniedRequest(models.Model):
    """One actor's identical denied requests in one minute; only the counter ever changes."""

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
        verbose_name, verbose_name_plural = _("denied request"), _("denied requests")
        constraints = [
            # Identical requests count on one row; the scheduled task finds the oldest rows by the same index.
            models.UniqueConstraint(
                fields=["minute", "actor", "address", "method", "path", "code"], name="one_denied_request_per_minute"
            ),
        ]
        indexes = [word_index("denied_words", "actor", "path")]  # for the search of the list
        triggers = [
            pgtrigger.Trigger(name="record_activity", when=pgtrigger.After, operation=pgtrigger.Insert, func=ACTIVITY),
            pgtrigger.Trigger(
                name="only_counts",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                func="""
                IF NEW.times <> OLD.times + 1
                  OR to_jsonb(NEW) - '{times,last_at}'::text[] <> to_jsonb(OLD) - '{times,last_at}'::text[]
                THEN RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'denied requests cannot be changed',
                  HINT = 'Only their counter goes up.';
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
                  MESSAGE = 'denied requests are kept for at least a week',
                  HINT = 'The scheduled task forget_denied_requests deletes the old ones.';
                END IF;
                RETURN OLD;
                """,
            ),
            *never(pgtrigger.Truncate, subject="denied requests", hint="They are an audit log."),
        ]

    def __str__(self) -> str:
        return f"{self.actor}: {self.method} {self.path}"


LENGTHS = {field.name: field.max_length for field in DeniedRequest._meta.fields if field.max_length}


def mark_denied(request: HttpRequest, code: DenialCode, detail: str = "") -> None:
    """Have the middleware record this request as denied although its response is an ordinary page."""
    marked: Any = request
    marked.denial = (code, detail)


def forget_denied_requests() -> str:
    return f"Deleted {DeniedRequest.objects.forget_old()}."
