"""Bulk actions, problems, pruning, doorbells, sweeps and secrets of conversions. Workers alone load Google's client."""

from datetime import timedelta
from functools import partial

from django.db.models import Q
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from kilit.access.encryption import register_encrypted
from kilit.api.webhooks import register_webhook_kinds
from kilit.batches.queues import register_queue
from kilit.lock.free_text import register_free_text
from kilit.lock.pruning import register_prunable
from kilit.problems.queues import register_queue_problems
from kilit.sites.archiving import register_open_rows
from kilit.workers.doorbells import register_doorbell
from kilit.workers.metrics import register_oldest, registry
from kilit.workers.sweeps import register_sweep
from ociqueue.files import import_jobs, import_run
from ociqueue.models import (
    Adjustment,
    Circuit,
    Conversion,
    Credentials,
    ImportJob,
    ImportLine,
    ReadBack,
    Receipt,
    UploadBatch,
    UploadSummary,
)
from ociqueue.operating import operations, sweeps
from ociqueue.operating.metrics import VerdictCollector, oldest_waiting
from ociqueue.operating.senders import sites_with_open_rows
from ociqueue.problems import sites, uploads
from ociqueue.reconcile import run as reconcile
from ociqueue.reconcile.self_check import check_uploads
from ociqueue.uploader import upload_run
from ociqueue.uploader.verdict_run import handle_verdict_bell
from ociqueue.webhooks import adjustments as adjustment_webhooks
from ociqueue.webhooks import conversions as webhooks


def check_credentials() -> None:
    """Load the providers when a worker needs them: the web process needs none."""
    import_string("ociqueue.uploader.connection_test.check_requested")()


register_queue(operations.QUEUE)
register_queue(operations.ADJUSTMENT_QUEUE)
register_queue_problems(operations.QUEUE, *sites.SOURCES, *uploads.CONVERSIONS.sources)
register_queue_problems(operations.ADJUSTMENT_QUEUE, *uploads.ADJUSTMENTS.sources)
register_open_rows(sites_with_open_rows)
register_webhook_kinds(*webhooks.KINDS, *adjustment_webhooks.KINDS)
registry.register(VerdictCollector())
for model in (Conversion, Adjustment):
    register_oldest(model.lifecycle.queue, partial(oldest_waiting, model))
register_prunable(Adjustment, finished=sweeps.finished_adjustments)  # before the conversions that they adjust
register_prunable(Conversion, finished=sweeps.finished)

# What is encrypted, and where Google, a script or an operator may quote what identifies a person.
register_encrypted(Credentials, "encrypted")
for model in (Conversion, Adjustment):
    register_free_text(
        model,
        "last_error",
        "provider_error_code",
        about=lambda ids: Q(pk__in=ids),
        jobs=lambda rows: rows.values_list("pk", flat=True),
    )
register_free_text(Circuit, "reason")
register_free_text(UploadBatch, "note")
register_free_text(Receipt, "note")
register_free_text(ReadBack, "error", "alerts", "days", "actions")
register_free_text(UploadSummary, "action_name")
register_free_text(ImportJob, "file_name", "error")
register_free_text(ImportLine, "cells", "text", "faults", "reason")

register_doorbell("oci_upload", due=upload_run.due_rows, handler=upload_run.handle_bell)
register_doorbell("oci_verdicts", due=lambda: [Receipt.objects.due()], handler=handle_verdict_bell)
register_doorbell(
    "oci_check_credentials",
    due=lambda: [Credentials.objects.awaiting_check()],
    handler=check_credentials,
)
register_doorbell("oci_reconcile", due=lambda: [reconcile.due_sites()], handler=reconcile.handle_bell)
register_doorbell(import_jobs.BELL, due=lambda: [ImportJob.objects.due()], handler=import_run.handle_bell)

register_sweep(
    "oci_imports_tidy",
    every=timedelta(hours=1),
    run=import_jobs.tidy,
    about=_("Cancels imports that were not confirmed in time, and deletes old rejected lines."),
)
register_sweep(
    "oci_reconcile",
    every=timedelta(hours=1),
    run=reconcile.handle_bell,
    about=_("Compares what was sent with what Google counted."),
)
register_sweep(
    "oci_self_check",
    every=timedelta(days=1),
    run=check_uploads,
    about=_("Checks that what became of each upload's rows is what was sent."),
)
register_sweep(
    "oci_upload",
    every=timedelta(minutes=10),
    run=upload_run.handle_bell,
    about=_("Uploads due conversions to Google Ads, in case a doorbell was lost."),
    due=upload_run.scheduled_rows,
)
register_sweep(
    "oci_verdicts",
    every=timedelta(minutes=5),
    run=handle_verdict_bell,
    about=_("Asks Google for the verdict on conversions that it took."),
    due=lambda: [Receipt.objects.due()],
)
register_sweep(
    "oci_recover_processing",
    every=timedelta(minutes=5),
    run=sweeps.recover_processing,
    about=_("Takes conversions back from scripts and workers that never reported."),
    due=sweeps.stuck_rows,
)
register_sweep(
    "oci_attempt_cap",
    every=timedelta(minutes=15),
    run=partial(sweeps.attempt_cap, min_age=sweeps.CAP_MIN_AGE),
    about=_("Fails conversions that used up their attempts."),
    due=sweeps.spent_rows,
)
register_sweep(
    "oci_requeue_transient",
    every=timedelta(minutes=15),
    run=sweeps.requeue_transient,
    about=_("Retries TRANSIENT failures on sites that ask for it."),
    due=sweeps.transient_failures,
)
register_sweep(
    "oci_end_unsendable",
    every=timedelta(minutes=15),
    run=sweeps.end_unsendable,
    about=_(
        "Ends conversions that wait and are not sent: consent was denied, they are over 90 days old, or retracted."
    ),
)
