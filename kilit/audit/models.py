"""A record of each audit: the next one begins where the last one ended."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Audit(models.Model):
    started_at = models.DateTimeField(_("started at"), db_default=Now())
    finished_at = models.DateTimeField(_("finished at"), null=True)
    is_full = models.BooleanField(_("whole log"), default=False)
    first_event = models.BigIntegerField(help_text="It read the events after this one.")
    last_event = models.BigIntegerField(help_text="It read the events up to this one.")
    moves = models.BigIntegerField(_("moves"), default=0)
    jobs = models.BigIntegerField(_("jobs"), default=0, help_text="That were created in what it read.")
    breach_count = models.BigIntegerField(_("breaches"), default=0)
    breaches = models.JSONField(default=list, help_text="The first of them.")

    class Meta:
        default_permissions = ("view",)
        verbose_name, verbose_name_plural = _("audit"), _("audits")
        indexes = [models.Index(fields=["-id"], condition=models.Q(finished_at__isnull=False), name="audit_finished")]

    def __str__(self) -> str:
        return f"audit up to event {self.last_event}"
