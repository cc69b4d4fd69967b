from datetime import timedelta

from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class WorkersConfig(AppConfig):
    name = "kilit.workers"

    def ready(self) -> None:
        from django_q.signals import post_execute  # noqa: PLC0415

        from kilit.lock.free_text import register_free_text, register_scrubber  # noqa: PLC0415
        from kilit.workers import failed_tasks, heartbeat, metrics  # noqa: PLC0415
        from kilit.workers.models import SweepRun  # noqa: PLC0415

        post_execute.connect(heartbeat.note_beat, dispatch_uid="kilit.workers.heartbeat")
        register_free_text(SweepRun, "result")
        register_scrubber(failed_tasks.scrub)
        metrics.registry.register(metrics.CountsCollector())
        metrics.registry.register(metrics.OldestCollector())
        metrics.registry.register(metrics.WorkersCollector())
        self.register_sweeps()

    @staticmethod
    def register_sweeps() -> None:
        """Register the lock's own sweeps; the lock is below the workers and cannot."""
        from kilit.lock import sweeps as lock_sweeps  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415

        about = _("Adds the changes of the last minute to totals and charts.")
        every, run = timedelta(minutes=1), lock_sweeps.fold_counts
        register_sweep("fold_counts", every=every, run=run, about=about, due=lock_sweeps.unfolded_counts)
        about = _("Adds the failures of the last minute to the error groups.")
        run = lock_sweeps.fold_errors
        register_sweep("fold_errors", every=every, run=run, about=about, due=lock_sweeps.unfolded_errors)
        if settings.KEEP_FINISHED_DAYS:
            about = _("Deletes old finished conversions, with their events.")
            register_sweep("prune", every=timedelta(hours=1), run=lock_sweeps.prune, about=about)
