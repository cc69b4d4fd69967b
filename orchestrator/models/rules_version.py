"""Versions of the cutting rules, as they were saved: who, when, why, and the whole text."""

import pgtrigger
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.triggers import never


class RulesVersion(models.Model):
    """One version of the rules' file. Without an actor and a reason, it was found on the disk and replaced."""

    owner_verbs = ("change",)  # operators check new rules; only owners save them

    created_at = models.DateTimeField(_("saved at"), db_default=Now(), editable=False)
    actor = models.CharField(_("who"), max_length=200, blank=True)
    reason = models.CharField(_("why"), max_length=1000, blank=True)
    sha256 = models.CharField(max_length=64)
    content = models.TextField(_("content"))

    class Meta:
        verbose_name, verbose_name_plural = _("version of the rules"), _("rules")
        default_permissions = ("view", "operate", "change")
        triggers = never(
            pgtrigger.Update,
            pgtrigger.Delete,
            pgtrigger.Truncate,
            subject="versions of the rules",
            hint="They show which rules a job was cut by.",
        )

    def __str__(self) -> str:
        return f"rules {self.pk}"
