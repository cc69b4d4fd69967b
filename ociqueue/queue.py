"""The queues of conversions and of adjustments to them. Workers alone load Google's client."""

from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from kilit.access.key_scopes import KeyScope
from kilit.api.queue_api import QueueApi
from kilit.audit.checks import register_audit_check
from kilit.batches.error_entries import UNKNOWN, ErrorEntry
from kilit.batches.queues import Queue, register
from kilit.lock.free_text import FreeText
from kilit.lock.management.arguments import minutes, whole_number
from kilit.lock.models.error_groups import Cause, Group
from kilit.lock.pruning import prunables
from kilit.sites.archiving import register_open_rows
from kilit.sites.scopes import scopes_run_by, scopes_seen_by, scopes_shown_to
from kilit.workers.doorbells import Doorbell
from kilit.workers.sweeps import Cron, Sweep, SweepOption
from ociqueue.codes.table import ADJUSTMENT_ENTRIES, CONVERSION_ENTRIES
from ociqueue.files import import_run
from ociqueue.models import (
    Adjustment,
    Circuit,
    Conversion,
    Credentials,
    ImportChunk,
    ImportJob,
    ImportLine,
    ReadBack,
    Receipt,
    UploadBatch,
    UploadSummary,
)
from ociqueue.models.sending import BY_ATTEMPTS
from ociqueue.operating import operations, sweeps
from ociqueue.operating.errors import entries_of_groups
from ociqueue.operating.filters import ADJUSTMENT_FILTERS, FILTERS
from ociqueue.operating.import_audit import imports_that_do_not_add_up
from ociqueue.operating.metrics import VerdictCollector, oldest_waiting
from ociqueue.operating.senders import sites_with_open_rows
from ociqueue.operating.sweeps import CAP_MIN_AGE, MODELS
from ociqueue.reconcile import run as reconcile
from ociqueue.reconcile.self_check import check_uploads
from ociqueue.schemas.requests import CapQuery
from ociqueue.states import ADJUSTMENTS, CONVERSIONS
from ociqueue.uploader import upload_run
from ociqueue.uploader.verdict_run import ask_for_verdicts, handle_verdict_bell
from ociqueue.webhooks import KINDS


class SiteQueue(Queue):
    def scopes_run_by(self, user: User | AnonymousUser) -> list[str] | None:
        return scopes_run_by(user)

    def scopes_seen_by(self, user: User | AnonymousUser) -> list[str] | None:
        return scopes_seen_by(user)

    def scopes_shown_to(self, user: User | AnonymousUser) -> list[str] | None:
        return scopes_shown_to(user)

    def visible_to(self, user: User | AnonymousUser) -> Any:
        return self.model.objects.visible_to(user)

    def hidden_text(self, row: Any) -> str:
        return str(getattr(row, "original", row).click_id)

    def entry_of(self, row: Any) -> ErrorEntry:
        entry: ErrorEntry = row.entry
        return entry

    def entries_of(self, groups: Iterable[Cause | Group]) -> dict[str, ErrorEntry]:
        names = [group.name for group in groups]
        return {**dict.fromkeys(names, UNKNOWN), **entries_of_groups(names, model=self.model)}


def check_credentials() -> None:
    """Load the providers when a worker needs them: the web process needs none."""
    import_string("ociqueue.uploader.connection_test.check_requested")()


def texts_of(model: type[Conversion | Adjustment]) -> FreeText:
    return FreeText(
        model,
        ("last_error", "provider_error_code"),
        about=lambda ids: Q(pk__in=ids),
        jobs=lambda rows: rows.values_list("pk", flat=True),
    )


DOORBELLS = [
    Doorbell("oci_upload", upload_run.due_rows, upload_run.handle_bell, upload_run.untaken),
    Doorbell("oci_verdicts", due=lambda: [Receipt.objects.due()], handler=handle_verdict_bell),
    Doorbell(
        "oci_check_credentials",
        due=lambda: [Credentials.objects.awaiting_check()],
        handler=check_credentials,
    ),
    Doorbell("oci_reconcile", due=lambda: [reconcile.due_sites()], handler=reconcile.handle_bell),
    import_run.ENGINE.doorbell(),
]
SWEEPS = [
    Sweep(
        "oci_imports_tidy",
        every=timedelta(hours=1),
        run=import_run.tidy,
        about=_("Cancels imports that were not confirmed in time, and deletes old rejected lines."),
    ),
    Sweep(
        "oci_reconcile",
        every=timedelta(hours=1),
        run=reconcile.handle_bell,
        about=_("Compares what was sent with what Google counted."),
        cron=Cron("oci/reconcile", "Compare what was sent with what Google counted.", rings=True),
    ),
    Sweep(
        "oci_self_check",
        every=timedelta(days=1),
        run=check_uploads,
        about=_("Checks that what became of each upload's rows is what was sent."),
    ),
    Sweep(
        "oci_upload",
        every=timedelta(minutes=10),
        run=upload_run.handle_bell,
        about=_("Uploads due conversions to Google Ads, in case a doorbell was lost."),
        due=upload_run.scheduled_rows,
        cron=Cron(
            "oci/upload",
            "Upload due conversions through the Google Ads API.",
            rings=True,
            older_path="oci/process-offline-conversions",
        ),
    ),
    Sweep(
        "oci_verdicts",
        every=timedelta(minutes=5),
        run=handle_verdict_bell,
        about=_("Asks Google for the verdict on conversions that it took."),
        due=lambda: [Receipt.objects.due()],
        by_hand=lambda: str(ask_for_verdicts()),
        preview=lambda: (
            f"Would ask for {Receipt.objects.due().count()} of {Receipt.objects.open().count()} open requests."
        ),
        cron=Cron("oci/verdicts", "Ask Google for the verdict on conversions that it took.", rings=True),
    ),
    Sweep(
        "oci_recover_processing",
        every=timedelta(minutes=5),
        run=sweeps.recover_processing,
        about=_("Takes conversions back from scripts and workers that never reported."),
        due=lambda: [model.objects.stuck().order_by("claimed_at") for model in MODELS],
        preview=lambda min_age: f"Would recover {Conversion.objects.stuck(min_age=min_age).count()}.",
        options=[SweepOption("--min-age-minutes", "min_age", minutes, default=15, unit=timedelta(minutes=1))],
        cron=Cron("oci/recover-processing", "Take back conversions that were claimed and never acknowledged."),
    ),
    Sweep(
        "oci_attempt_cap",
        every=timedelta(minutes=15),
        run=partial(sweeps.attempt_cap, min_age=CAP_MIN_AGE),
        about=_("Fails conversions that used up their attempts."),
        due=lambda: [model.objects.over_cap(min_age=CAP_MIN_AGE).order_by(*BY_ATTEMPTS) for model in MODELS],
        preview=lambda **limits: f"Would cap {Conversion.objects.over_cap(**limits).count()}.",
        options=[
            SweepOption(
                "--max-attempts",
                "max_attempts",
                whole_number(least=1, most=1000),
                help="default: 5 on the script path, 8 on the API path",
            ),
            SweepOption(
                "--min-age-minutes",
                "min_age",
                minutes,
                default=0,
                unit=timedelta(minutes=1),
                help="skip rows changed more recently",
            ),
        ],
        cron=Cron("oci/attempt-cap", "Fail conversions that used up their attempts.", query=CapQuery),
    ),
    Sweep(
        "oci_requeue_transient",
        every=timedelta(minutes=15),
        run=sweeps.requeue_transient,
        about=_("Retries temporary failures on sites that ask for it."),
        due=lambda: [rows.order_by(*BY_ATTEMPTS) for model in MODELS for rows in model.objects.requeueable()],
        preview=lambda: f"Would requeue {sum(rows.count() for rows in Conversion.objects.requeueable())}.",
        cron=Cron("oci/requeue-transient", "Retry TRANSIENT failures on sites that ask for it."),
    ),
    Sweep(
        "oci_end_unsendable",
        every=timedelta(minutes=15),
        run=sweeps.end_unsendable,
        about=_(
            "Ends conversions that wait and are not sent: consent was denied, they are over 90 days old, or retracted."
        ),
        preview=sweeps.preview_unsendable,
        cron=Cron(
            "oci/end-unsendable",
            "End conversions that wait and are not sent: consent was denied, they are over 90 days old, or retracted.",
        ),
    ),
]

ADJUSTMENT_QUEUE = SiteQueue(
    ADJUSTMENTS,
    Adjustment,
    ADJUSTMENT_FILTERS,
    (operations.RETRY_ADJUSTMENT, operations.RESET_ADJUSTMENT, operations.MARK_ADJUSTMENT_FAILED),
    title=_("Adjustments"),
    errors=ADJUSTMENT_ENTRIES,
    free_text=[texts_of(Adjustment)],
    keeping=lambda: sweeps.finished(Adjustment.objects.all()),
    well=(),
    badly=(),
    oldest=partial(oldest_waiting, Adjustment),
)
QUEUE = SiteQueue(
    CONVERSIONS,
    Conversion,
    FILTERS,
    (operations.RETRY, operations.RESET, operations.MARK_FAILED),
    title=_("Offline conversions"),
    errors=CONVERSION_ENTRIES,
    doorbells=DOORBELLS,
    sweeps=SWEEPS,
    # Where Google, a script or an operator may quote what identifies a person.
    free_text=[
        texts_of(Conversion),
        FreeText(Circuit, ("reason",)),
        FreeText(UploadBatch, ("note",)),
        FreeText(Receipt, ("note",)),
        FreeText(ReadBack, ("error", "alerts", "days", "actions")),
        FreeText(UploadSummary, ("action_name",)),
        FreeText(ImportJob, ("file_name", "error")),
        FreeText(ImportLine, ("cells", "text", "faults", "reason")),
    ],
    kept_names=Conversion.HASHES,  # erased by their own verb (operating/erasure.py)
    # A replaced row is pruned after its replacement, an adjusted row after its adjustments.
    keeping=lambda: sweeps.finished(Conversion.objects.filter(replacement=None, adjustments=None)),
    encrypted={Credentials: ("encrypted",), ImportChunk: ("content",)},
    oldest=partial(oldest_waiting, Conversion),
    metrics=[VerdictCollector()],
    webhooks=KINDS,
    api=QueueApi(
        "api/",
        "ociqueue.api.urls",
        tags={
            "Conversions": "Offline conversions: adding them, and exporting them to a script.",
            "Operators of conversions": "For console users who are members of the site.",
        },
        kinds={
            "/api/oci/conversions": "api_enqueue",
            "/api/oci/adjustments": "api_enqueue",
            "/api/oci/google-ads-export": "api_script",
            "/api/oci/ack": "api_script",
            "/api/oci/ack-failed": "api_script",
            "/api/oci/upload-summary": "api_script",
            "/api/oci/v2/verify": "api_script",
            "/api/oci/": "api_conversions",
        },
        scopes={KeyScope.ENQUEUE: _("conversions, adjustments"), KeyScope.SCRIPT: ""},
    ),
)
register(ADJUSTMENT_QUEUE)  # before the conversions that they adjust: so they are pruned
register(QUEUE)
prunables["receipt"] = lambda: [Receipt.objects.finished()]  # before the uploads that they belong to
prunables["upload"] = lambda: [UploadBatch.objects.finished()]
register_open_rows(sites_with_open_rows)
register_audit_check("conversion_import", imports_that_do_not_add_up)
