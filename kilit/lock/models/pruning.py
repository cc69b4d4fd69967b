"""Records of pruning: what stays when rows and their events are deleted."""

import pgtrigger
from django.db import models
from django.db.models.functions import Now

from kilit.lock.triggers import never


class Pruning(models.Model):
    """One batch of finished rows, deleted with their events; written by a trigger in the same statement."""

    queue = models.CharField(max_length=32)
    before = models.DateTimeField(null=True, help_text="Only rows that finished before this time were deleted.")
    rows = models.IntegerField()
    events = models.IntegerField()
    states = models.JSONField(help_text="Rows by state.")
    oldest = models.DateTimeField()
    newest = models.DateTimeField()
    actor = models.CharField(max_length=200)
    message = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ("view",)
        triggers = never(
            pgtrigger.Update,
            pgtrigger.Delete,
            pgtrigger.Truncate,
            subject="records of pruning",
            hint="They are all that is left of the rows.",
        )

    def __str__(self) -> str:
        return f"{self.rows} of {self.queue} before {self.before:%F}"
