"""The conversion queue, as a Django app."""

from datetime import timedelta

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OciQueueConfig(AppConfig):
    """Registers bulk actions, pruning, doorbells and sweeps; only workers answer bells and load Google's client."""

    name = "ociqueue"
    verbose_name = _("Offline conversions")

    def ready(self) -> None:
        from kilit.bulk.queues import register_queue  # noqa: PLC0415
        from kilit.lock.pruning import register_prunable  # noqa: PLC0415
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from ociqueue import operations, sweeps  # noqa: PLC0415
        from ociqueue.models import Conversion, Credentials  # noqa: PLC0415
        from ociqueue.uploader.connection_test import check_requested  # noqa: PLC0415
        from ociqueue.uploader.due import due_sites  # noqa: PLC0415
        from ociqueue.uploader.upload_run import answer_bell  # noqa: PLC0415

        register_queue(operations.QUEUE)
        register_prunable(Conversion, finished=sweeps.finished)
        register_doorbell("oci_upload", is_due=lambda: due_sites().exists(), answer=answer_bell)
        register_doorbell(
            "oci_check_credentials",
            is_due=lambda: Credentials.objects.awaiting_check().exists(),
            answer=check_requested,
        )
        self._register_sweeps()

    @staticmethod
    def _register_sweeps() -> None:
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415
        from ociqueue import sweeps  # noqa: PLC0415
        from ociqueue.uploader.upload_run import answer_bell  # noqa: PLC0415

        register_sweep(
            "oci_upload",
            every=timedelta(minutes=10),
            run=answer_bell,
            about=_("Uploads due conversions to Google Ads, in case a doorbell was lost."),
        )
        register_sweep(
            "oci_recover_processing",
            every=timedelta(minutes=5),
            run=sweeps.recover_processing,
            about=_("Takes conversions back from scripts and workers that never reported."),
        )
        register_sweep(
            "oci_attempt_cap",
            every=timedelta(minutes=15),
            run=lambda: sweeps.attempt_cap(min_age=sweeps.CAP_MIN_AGE),
            about=_("Fails conversions that used up their attempts."),
        )
        register_sweep(
            "oci_requeue_transient",
            every=timedelta(minutes=15),
            run=sweeps.requeue_transient,
            about=_("Retries TRANSIENT failures on sites that ask for it."),
        )
