"""A site's circuit: it opens when the account is at fault, so that rows wait unharmed instead of failing."""

from datetime import timedelta
from typing import ClassVar, Self

from django.db import models
from django.db.models import DurationField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Greatest, Least, Now, Power

from kilit.lock.guard import LifecycleModel, LifecycleQuerySet
from kilit.lock.text import strip_control_chars
from kilit.lock.triggers import lifecycle_triggers
from ociqueue.models.site import Site
from ociqueue.states import CIRCUITS, Category, CircuitStatus

# How long after a fault the first probe goes out; each failed probe doubles it.
FIRST_PROBE_AFTER = {
    Category.TRANSIENT: timedelta(minutes=1),
    Category.RATE_LIMIT: timedelta(minutes=5),
    Category.AUTH: timedelta(minutes=10),
    Category.VALIDATION: timedelta(minutes=10),
}
LONGEST_WAIT = timedelta(hours=6)
MOST_DOUBLINGS = Value(10)


class CircuitQuerySet(LifecycleQuerySet["Circuit"]):
    """Questions about circuits, and their verbs."""

    def open(self) -> Self:
        return self.filter(status=CircuitStatus.OPEN)

    def resting(self) -> Self:
        """Return open circuits whose next probe is still to come."""
        return self.open().filter(next_probe_at__gt=Now())

    def trip(
        self,
        site: Site,
        *,
        action: str = "",
        code: str,
        category: Category,
        reason: str,
        retry_after: timedelta | None = None,
    ) -> "Circuit":
        """Hold a site's conversions back, or those of one conversion name; an open circuit learns the newer reason."""
        circuit, _ = self.get_or_create(site=site, action=action)
        mine = self.filter(pk=circuit.pk)
        wait = retry_after or FIRST_PROBE_AFTER[category]
        told = {"code": code[:64], "category": category, "reason": strip_control_chars(reason)[:1000]}
        tripped = mine.move("trip", **told, wait=wait, probes=0, opened_at=Now(), next_probe_at=Now() + wait)
        if not tripped:
            # A probe's next time was set when it was taken; only the provider's own wish can put it off further.
            later = {"next_probe_at": Greatest("next_probe_at", Now() + retry_after)} if retry_after else {}
            mine.open().update(**told, **later)
        circuit.refresh_from_db()
        return circuit

    def take_probe(self) -> bool:
        """Take the one probe that is due; the row count says who got it, and a lost probe is due again later."""
        doubled = ExpressionWrapper(
            F("wait") * Power(Value(2.0), Least("probes", MOST_DOUBLINGS)), output_field=DurationField()
        )
        wait = Least(doubled, Value(LONGEST_WAIT), output_field=DurationField())
        due = self.open().filter(next_probe_at__lte=Now())
        return bool(due.update(next_probe_at=Now() + wait, probes=F("probes") + 1))

    def probe_now(self) -> int:
        """Make the next probe due, as an operator who mended the account wishes."""
        return self.open().update(next_probe_at=Now())

    def close(self) -> int:
        return self.move("close", code="", category="", reason="", opened_at=None, next_probe_at=None)


class Circuit(LifecycleModel):
    """Whether a site's conversions flow; with an action, whether those of one conversion name do."""

    lifecycle = CIRCUITS
    EVERY_ACTION: ClassVar = ""

    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="circuits")
    action = models.CharField("conversion name", max_length=100, blank=True, help_text="Empty means all of the site.")
    status = models.CharField(max_length=10, choices=CircuitStatus, default=CircuitStatus.CLOSED, editable=False)
    code = models.CharField(max_length=64, blank=True)
    category = models.CharField(max_length=10, choices=Category, blank=True)
    reason = models.CharField(max_length=1000, blank=True)
    opened_at = models.DateTimeField(null=True)
    next_probe_at = models.DateTimeField(null=True)
    wait = models.DurationField(default=timedelta(0))
    probes = models.PositiveIntegerField(default=0)

    objects = CircuitQuerySet.as_manager()

    class Meta(LifecycleModel.Meta):
        abstract = False
        triggers = lifecycle_triggers(CIRCUITS, scope="site_id", facts=["action", "code", "category", "reason"])
        constraints = [
            models.UniqueConstraint(fields=["site", "action"], name="one_circuit_per_site_and_action"),
            # An open circuit says why, and ends by itself once a probe passes.
            models.CheckConstraint(
                condition=Q(status=CircuitStatus.CLOSED)
                | Q(~Q(reason=""), opened_at__isnull=False, next_probe_at__isnull=False),
                name="open_circuit_has_reason_and_probe",
            ),
        ]

    def __str__(self) -> str:
        return f"circuit of {self.site}" + (f" for {self.action}" if self.action else "")
