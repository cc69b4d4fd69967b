"""How far the event log was read; see outbox.log_reader."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

WEBHOOKS = "webhooks"


class LogPosition(models.Model):
    """Events up to `event_id` were read; those up to `horizon` can be once the transactions `writers` have ended."""

    name = models.CharField(max_length=32, primary_key=True)
    event_id = models.BigIntegerField(default=0)
    horizon = models.BigIntegerField(default=0)
    writers = ArrayField(models.CharField(max_length=64), default=list)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} at {self.event_id}"
