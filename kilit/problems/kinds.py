"""Every kind of problem, with the name that alert rules show; the names never change, because rules store them."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class ProblemKind(TextChoices):
    # Jobs of any queue
    FAILURES = "failures", _("Failed jobs of one cause")
    OTHER_FAILURES = "other-failures", _("Failed jobs of several smaller causes")
    OLD_FAILURES = "old-failures", _("Failed jobs that are older than a day")
    FAILURE_RATE = "failure-rate", _("Many of the jobs fail")
    STUCK = "stuck", _("Jobs are stuck")
    PAUSED = "paused", _("A queue or a site is paused")

    # Conversions and their sites
    OPEN_CIRCUIT = "open-circuit", _("Google rejects an account (circuit open)")
    NO_CREDENTIALS = "no-credentials", _("A site has no credentials")
    FAILED_TEST = "failed-test", _("A connection test failed")
    SILENT_SCRIPT = "silent-script", _("A script does not call")
    VERDICT_OVERDUE = "verdict-overdue", _("Google gives no verdict on conversions")
    READ_BACK_DIFFERS = "read-back-differs", _("Google's counts differ from ours")
    UPLOAD_MISCOUNTED = "upload-miscounted", _("An upload does not add up")
    IMPORT_STOPPED = "import-stopped", _("An import of a file stopped")

    # Panel cutting
    HOLD = "hold", _("Cutting jobs need approval")
    HANDOVER_UNKNOWN = "handover-unknown", _("Ask at the saw whether cutting jobs were cut")
    MANY_ON_HOLD = "many-on-hold", _("Many cutting jobs need approval")
    HELD_SHARE = "held-share", _("A large share of the orders needs approval")
    OPTIPLANNING_OVERDUE = "optiplanning-overdue", _("OptiPlanning takes longer than allowed")
    SAW_OVERDUE = "saw-overdue", _("The saw does not answer in time")
    PARTS_TOO_LARGE = "warning", _("Parts are larger than their plate")
    WAITING_FOR_OPTIPLANNING = "waiting-for-optiplanning", _("Cutting jobs wait for OptiPlanning")
    LATE_ORDERS = "late-orders", _("Orders are late")
    INVALID_RULES = "invalid-rules", _("The cutting rules are invalid")
    OTHER_RULES = "other-rules", _("A machine has other cutting rules than those saved last")
    RULES_PROPOSED = "rules-proposed", _("New cutting rules wait for an owner")
    LOW_STOCK = "low-stock", _("Boards run out")

    # PDF documents
    QUEUE_FULL = "queue-full", _("The PDF queue is full")
    FILE_CHANGED = "file-changed", _("A stored PDF was changed")
    NO_SANDBOX = "no-sandbox", _("The browser runs without its sandbox")

    # Webhooks
    ENDPOINT_OFF = "endpoint-off", _("A webhook endpoint was switched off")
    ENDPOINT_FAILING = "endpoint-failing", _("A webhook endpoint fails")

    # The installation
    NO_WORKER = "none-running", _("No worker is running")
    NOT_TAKEN = "not-taken", _("No worker takes due jobs")
    LOST_WORKER = "not-responding", _("A worker does not respond")
    LATE_TASK = "late", _("A scheduled task is late or failed")
    DISK_LOW = "disk-low", _("A disk is almost full")
    AUDIT_FAILED = "audit-failed", _("The history of jobs does not add up")
    NO_PROXY = "no-proxy", _("The web server is reached without a proxy")
    SERVER_BEHIND = "server-behind", _("PostgreSQL lacks fixes")
    OPEN_TRANSACTION = "open-transaction", _("A transaction keeps PostgreSQL from cleaning up")


# Each of their jobs is in another line, which names its cause; alerts may be about these sums.
SUMS = frozenset({ProblemKind.FAILURE_RATE, ProblemKind.HELD_SHARE, ProblemKind.MANY_ON_HOLD})
# What is left when the largest causes have their lines.
REMAINDERS = frozenset({ProblemKind.OTHER_FAILURES, ProblemKind.OLD_FAILURES})
