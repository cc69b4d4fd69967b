"""New versions of the cutting rules that operators propose: an owner saves or declines each."""

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.column_guards import refuse_rows
from kilit.lock.constraints import checks
from kilit.lock.triggers import never
from orchestrator.models.rules_version import RulesVersion


class RulesProposal(models.Model):
    """Waits for an owner until it is closed: saved if it has a version, else declined or withdrawn."""

    created_at = models.DateTimeField(db_default=Now(), editable=False)
    actor = models.CharField(max_length=200)
    reason = models.CharField(max_length=1000)
    based_on = models.CharField(max_length=64, help_text="sha256 of the rules that were in force.")
    content = models.TextField()
    held_jobs = models.PositiveIntegerField(help_text="On HOLD for other rules, when it was proposed.")
    released_jobs = models.PositiveIntegerField(help_text="Those of them that it lets pass.")
    closed_at = models.DateTimeField(null=True)
    version = models.OneToOneField(RulesVersion, null=True, on_delete=models.PROTECT, related_name="proposal")

    class Meta:
        verbose_name, verbose_name_plural = _("proposed rules"), _("proposed rules")
        default_permissions = ()
        constraints = [
            # A second one of the same person replaces the first.
            models.UniqueConstraint(fields=["actor"], condition=Q(closed_at=None), name="one_open_proposal"),
            *checks(saved_proposal_is_closed=Q(version=None) | Q(closed_at__isnull=False)),
        ]
        triggers = [
            refuse_rows(
                "fixed_proposal",
                pgtrigger.Update,
                "OLD.closed_at IS NOT NULL OR (to_jsonb(OLD) - ARRAY['closed_at', 'version_id'])"
                " IS DISTINCT FROM (to_jsonb(NEW) - ARRAY['closed_at', 'version_id'])",
                "'what was proposed does not change, and is closed once'",
                hint="Propose another version instead.",
            ),
            *never(
                pgtrigger.Delete,
                pgtrigger.Truncate,
                subject="proposed rules",
                hint="They show who wanted which rules.",
            ),
        ]

    def __str__(self) -> str:
        return f"proposed rules {self.pk}"
