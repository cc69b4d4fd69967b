"""A site's circuit breaker: it opens when the account is at fault, so that rows wait instead of failing."""

from datetime import timedelta
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import DurationField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Greatest, Least, Now, Power
from django.utils.translation import gettext_lazy as _

from kilit.lock.constraints import checks
from kilit.lock.guard import LifecycleModel, LifecycleQuerySet
from kilit.lock.text import storable
from kilit.lock.triggers import lifecycle_triggers
from ociqueue.models.site import Site
from ociqueue.states import CIRCUITS, Category, CircuitStatus

# How long after a fault the first probe is sent; each failed probe doubles it.
FIRST_PROBE_AFTER = {
    Category.TRANSIENT: timedelta(minutes=1),
    Category.RATE_LIMIT: timedelta(minutes=5),
    Category.AUTH: timedelta(minutes=10),
    Category.VALIDATION: timedelta(minutes=10),
}
LONGEST_WAIT = timedelta(hours=6)
MOST_DOUBLINGS = Value(10)
# The code if the developer token may not upload over the Google Ads API.
NOT_ALLOWLISTED = "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"


class CircuitQuerySet(LifecycleQuerySet["Circuit"]):
    def open(self) -> Self:
        return self.filter(status=CircuitStatus.OPEN)

    def blocking(self) -> Self:
        """Return open circuits without a due probe: nothing may be sent past them."""
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
        needs_verdict: bool = False,
    ) -> "Circuit":
        """Open the circuit of a site, or of one conversion name; one that is open already gets the newer reason."""
        circuit, _ = self.get_or_create(site=site, action=action)
        same_circuit = self.filter(pk=circuit.pk)
        wait = retry_after or FIRST_PROBE_AFTER[category]
        error: dict[str, Any] = {
            "code": code[:64],
            "category": category,
            "reason": storable(reason, 1000),
            # Once set it stays until the circuit closes: a later fault of another kind does not disprove the verdict.
            **({"needs_verdict": True} if needs_verdict else {}),
        }
        tripped = same_circuit.move("trip", **error, wait=wait, probes=0, opened_at=Now(), next_probe_at=Now() + wait)
        if not tripped:
            # The next probe was scheduled when the last was taken; only the provider's own delay can postpone it.
            later = {"next_probe_at": Greatest("next_probe_at", Now() + retry_after)} if retry_after else {}
            same_circuit.open().update(**error, **later)
        circuit.refresh_from_db()
        return circuit

    def take_probe(self) -> bool:
        """Take the due probe; the row count decides between two workers, and a lost probe is due again later."""
        doubled = ExpressionWrapper(
            F("wait") * Power(Value(2.0), Least("probes", MOST_DOUBLINGS)), output_field=DurationField()
        )
        wait = Least(doubled, Value(LONGEST_WAIT), output_field=DurationField())
        due = self.open().filter(next_probe_at__lte=Now())
        return bool(due.update(next_probe_at=Now() + wait, probes=F("probes") + 1))

    def probe_now(self) -> int:
        return self.open().update(next_probe_at=Now())

    def close(self) -> int:
        cleared = {"code": "", "category": "", "reason": "", "needs_verdict": False}
        return self.move("close", **cleared, opened_at=None, next_probe_at=None)


class Circuit(LifecycleModel):
    """Whether a site's conversions are sent: all, or with an action the conversions of one name."""

    lifecycle = CIRCUITS
    EVERY_ACTION: ClassVar = ""

    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="circuits")
    action = models.CharField(
        _("conversion name"), max_length=100, blank=True, help_text="Empty means all conversions of the site."
    )
    status = models.CharField(max_length=10, choices=CircuitStatus, default=CircuitStatus.CLOSED, editable=False)
    code = models.CharField(max_length=64, blank=True)
    category = models.CharField(max_length=10, choices=Category, blank=True)
    reason = models.CharField(max_length=1000, blank=True)
    opened_at = models.DateTimeField(null=True)
    next_probe_at = models.DateTimeField(null=True)
    wait = models.DurationField(default=timedelta(0))
    probes = models.PositiveIntegerField(default=0)
    needs_verdict = models.BooleanField(
        db_default=False, help_text="A verdict opened it: only the verdict on a probe closes it, not its receipt."
    )

    objects = CircuitQuerySet.as_manager()

    class Meta(LifecycleModel.Meta):
        abstract = False
        triggers = lifecycle_triggers(
            CIRCUITS,
            scope="site_id",
            facts=["action", "code", "category", "reason"],
            machine_verbs=["trip", "close"],
            fixed=["site_id", "action"],
        )
        constraints = [
            models.UniqueConstraint(fields=["site", "action"], name="one_circuit_per_site_and_action"),
            # An open circuit has a reason, and a probe that can close it.
            *checks(
                open_circuit_has_reason_and_probe=Q(status=CircuitStatus.CLOSED)
                | Q(~Q(reason=""), opened_at__isnull=False, next_probe_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"circuit of {self.site}" + (f" for {self.action}" if self.action else "")
