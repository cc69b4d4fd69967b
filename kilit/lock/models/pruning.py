"""Records of pruning: what stays when rows and their events are deleted."""

import pgtrigger
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.triggers import never


class Pruning(models.Model):
    """One batch of finished rows, deleted with their events; written by a trigger in the same statement."""

    queue = models.CharField(_("queue"), max_length=32)
    before = models.DateTimeField(
        _("finished before"), null=True, help_text="Only rows that finished before this time were deleted."
    )
    rows = models.IntegerField(_("rows"))
    events = models.IntegerField(_("events"))
    states = models.JSONField(_("states"), help_text="Rows by state.")
    oldest = models.DateTimeField(_("oldest"))
    newest = models.DateTimeField(_("newest"))
    actor = models.CharField(_("who"), max_length=200)
    message = models.TextField(_("why"), blank=True)
    created_at = models.DateTimeField(_("when"), db_default=Now())

    class Meta:
        default_permissions = ("view",)
        verbose_name, verbose_name_plural = _("pruned batch"), _("pruned rows")
        triggers = never(
            pgtrigger.Update,
            pgtrigger.Delete,
            pgtrigger.Truncate,
            subject="records of pruning",
            hint="They are all that is left of the rows.",
        )

    def __str__(self) -> str:
        return f"{self.rows} of {self.queue} before {self.before:%F}"
