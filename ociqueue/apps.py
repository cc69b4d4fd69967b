from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OciQueueConfig(AppConfig):
    name = "ociqueue"
    verbose_name = _("Offline conversions")

    def ready(self) -> None:
        from kilit.access.scopes import register_scopes  # noqa: PLC0415
        from kilit.api.webhooks import register_webhook_kinds  # noqa: PLC0415
        from kilit.bulk.queues import register_queue  # noqa: PLC0415
        from kilit.lock.pruning import register_prunable  # noqa: PLC0415
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from kilit.workers.metrics import register_oldest, registry  # noqa: PLC0415
        from ociqueue.files import import_jobs, import_run  # noqa: PLC0415
        from ociqueue.models import Adjustment, Conversion, Credentials, ImportJob, Receipt  # noqa: PLC0415
        from ociqueue.operating import operations  # noqa: PLC0415
        from ociqueue.operating.metrics import VerdictCollector, oldest_waiting  # noqa: PLC0415
        from ociqueue.operating.sweeps import finished, finished_adjustments  # noqa: PLC0415
        from ociqueue.reconcile import run as reconcile  # noqa: PLC0415
        from ociqueue.sites.scopes import SiteScopes  # noqa: PLC0415
        from ociqueue.uploader.connection_test import check_requested  # noqa: PLC0415
        from ociqueue.uploader.upload_run import due_rows, handle_bell  # noqa: PLC0415
        from ociqueue.uploader.verdict_run import handle_verdict_bell  # noqa: PLC0415
        from ociqueue.webhooks import adjustments as adjustment_webhooks  # noqa: PLC0415
        from ociqueue.webhooks import conversions as webhooks  # noqa: PLC0415

        register_queue(operations.QUEUE)
        register_queue(operations.ADJUSTMENT_QUEUE)
        register_scopes(SiteScopes())
        register_webhook_kinds(*webhooks.KINDS, *adjustment_webhooks.KINDS)
        self.register_secrets()
        registry.register(VerdictCollector())
        for model in (Conversion, Adjustment):
            register_oldest(model.lifecycle.queue, partial(oldest_waiting, model))
        register_prunable(Adjustment, finished=finished_adjustments)  # before the conversions that they adjust
        register_prunable(Conversion, finished=finished)
        register_doorbell("oci_upload", due=due_rows, answer=handle_bell)
        register_doorbell("oci_verdicts", due=lambda: [Receipt.objects.due()], answer=handle_verdict_bell)
        checks_due = Credentials.objects.awaiting_check
        register_doorbell("oci_check_credentials", due=lambda: [checks_due()], answer=check_requested)
        compare, compares_due = reconcile.handle_bell, reconcile.due_sites
        register_doorbell("oci_reconcile", due=lambda: [compares_due()], answer=compare)
        register_doorbell(import_jobs.BELL, due=lambda: [ImportJob.objects.due()], answer=import_run.handle_bell)
        self.register_sweeps()

    @staticmethod
    def register_sweeps() -> None:
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415
        from ociqueue.files.import_jobs import tidy  # noqa: PLC0415
        from ociqueue.models import Receipt  # noqa: PLC0415
        from ociqueue.operating.sweeps import (  # noqa: PLC0415
            CAP_MIN_AGE,
            attempt_cap,
            end_unsendable,
            recover_processing,
            requeue_transient,
            spent_rows,
            stuck_rows,
            transient_failures,
        )
        from ociqueue.reconcile.run import handle_bell as compare  # noqa: PLC0415
        from ociqueue.reconcile.self_check import check_uploads  # noqa: PLC0415
        from ociqueue.uploader.upload_run import handle_bell, scheduled_rows  # noqa: PLC0415
        from ociqueue.uploader.verdict_run import handle_verdict_bell  # noqa: PLC0415

        register_sweep("oci_imports_tidy", every=timedelta(hours=1), run=tidy, about=TIDY)
        register_sweep("oci_reconcile", every=timedelta(hours=1), run=compare, about=RECONCILE)
        register_sweep("oci_self_check", every=timedelta(days=1), run=check_uploads, about=SELF_CHECK)
        register_sweep("oci_upload", every=timedelta(minutes=10), run=handle_bell, about=UPLOAD, due=scheduled_rows)
        every, verdicts_due = timedelta(minutes=5), Receipt.objects.due
        register_sweep(
            "oci_verdicts", every=every, run=handle_verdict_bell, about=VERDICTS, due=lambda: [verdicts_due()]
        )
        register_sweep("oci_recover_processing", every=every, run=recover_processing, about=RECOVER, due=stuck_rows)
        cap = partial(attempt_cap, min_age=CAP_MIN_AGE)
        every = timedelta(minutes=15)
        register_sweep("oci_attempt_cap", every=every, run=cap, about=CAP, due=spent_rows)
        register_sweep(
            "oci_requeue_transient", every=every, run=requeue_transient, about=REQUEUE, due=transient_failures
        )
        register_sweep("oci_end_unsendable", every=every, run=end_unsendable, about=END_UNSENDABLE)

    @staticmethod
    def register_secrets() -> None:
        """Register what is encrypted, and where Google, a script or an operator may quote what identifies a person."""
        from kilit.access.encryption import register_encrypted  # noqa: PLC0415
        from kilit.lock.scrubbing import register_free_text  # noqa: PLC0415
        from ociqueue.models import (  # noqa: PLC0415
            Adjustment,
            Circuit,
            Conversion,
            Credentials,
            ImportJob,
            ImportLine,
            ReadBack,
            Receipt,
            Site,
            UploadBatch,
            UploadSummary,
        )

        register_encrypted(Credentials, "encrypted")
        of_jobs: dict[str, Any] = {
            "about": lambda ids: Q(pk__in=ids),
            "jobs": lambda rows: rows.values_list("pk", flat=True),
        }
        for model in (Conversion, Adjustment):
            register_free_text(model, "last_error", "provider_error_code", **of_jobs)
        register_free_text(Site, "pause_reason")
        register_free_text(Circuit, "reason")
        register_free_text(UploadBatch, "note")
        register_free_text(Receipt, "note")
        register_free_text(ReadBack, "error", "alerts", "days", "actions")
        register_free_text(UploadSummary, "action_name")
        register_free_text(ImportJob, "file_name", "error")
        register_free_text(ImportLine, "cells", "text", "faults", "reason")
