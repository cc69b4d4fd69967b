"""Attempts: what was sent and answered, for the console; pruned after some days."""

from collections.abc import Sequence

from django.db import connection, models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from pydantic_core import to_json

LONGEST_ANSWER = 4000
# One parameter for all rows: bulk_create would take longer than sending them.
INSERT = """
    INSERT INTO outbox_attempt (message_id, number, started_at, seconds, url, request_headers, response_code, answer,
      error_code, error_message)
    SELECT * FROM json_to_recordset(%s) AS row (message_id uuid, number int, started_at timestamptz, seconds float,
      url text, request_headers jsonb, response_code int, answer text, error_code text, error_message text)
    WHERE NOT EXISTS (SELECT FROM outbox_attempt o WHERE o.message_id = row.message_id AND o.number = row.number)
"""


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def insert(self, rows: Sequence[dict[str, object]]) -> None:
        """Store attempts, given as all their columns; one that is stored already is left as it is."""
        with connection.cursor() as cursor:
            cursor.execute(INSERT, [to_json(rows).decode()])


class Attempt(models.Model):
    # Not a foreign key: old attempts and old messages are pruned each on their own.
    message_id = models.UUIDField()
    number = models.PositiveSmallIntegerField(_("number"))
    started_at = models.DateTimeField(_("started at"), db_default=Now())
    seconds = models.FloatField(_("seconds"))
    url = models.CharField(_("address"), max_length=2000)
    request_headers = models.JSONField(_("request headers"), default=dict, help_text="Without the signature.")
    response_code = models.PositiveSmallIntegerField(_("status"), null=True)
    answer = models.TextField(_("answer"), blank=True)
    error_code = models.CharField(_("error code"), max_length=32, blank=True)
    error_message = models.CharField(_("error"), max_length=500, blank=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name, verbose_name_plural = _("attempt"), _("attempts")
        indexes = [
            # A message's page.
            models.Index(fields=["message_id", "id"], name="attempts_of_message"),
            # The sweep that deletes old ones.
            models.Index(fields=["started_at"], name="attempts_by_age"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.message_id}"
