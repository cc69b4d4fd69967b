"""The outbox, as a Django app."""

from datetime import timedelta

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OutboxConfig(AppConfig):
    name = "outbox"
    verbose_name = _("Webhooks and alerts")

    def ready(self) -> None:
        from kilit.access.encryption import register_encrypted  # noqa: PLC0415
        from kilit.api.callbacks import register_callback_hosts  # noqa: PLC0415
        from kilit.bulk.queues import register_queue  # noqa: PLC0415
        from kilit.lock.pruning import register_prunable  # noqa: PLC0415
        from kilit.problems.tracking import problems_tracked, register_readers  # noqa: PLC0415
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415
        from outbox import endpoints, log_reader, operations, sending, sweeps  # noqa: PLC0415
        from outbox.alerts import making  # noqa: PLC0415
        from outbox.alerts import sending as alert_sending  # noqa: PLC0415
        from outbox.models import Channel, Endpoint, OutboxMessage  # noqa: PLC0415

        register_callback_hosts(endpoints.callback_hosts)
        register_encrypted(Endpoint, "encrypted_secret", "previous_secret")
        register_encrypted(Channel, "encrypted_address")
        self.register_texts()
        self.register_metrics()
        register_queue(operations.QUEUE)
        register_prunable(OutboxMessage, finished=sweeps.finished)
        register_doorbell(log_reader.BELL, due=log_reader.due_rows, handler=log_reader.read_log)
        register_doorbell(sending.BELL, due=lambda: [sending.sendable_endpoints()], handler=sending.send_due)
        register_doorbell(
            making.BELL, due=lambda: [OutboxMessage.objects.claimable_alerts()], handler=alert_sending.send_alerts
        )
        register_readers(making.channel_owners)
        problems_tracked.connect(making.make_alerts, dispatch_uid="outbox.alerts")
        register_sweep(
            "outbox_recover",
            every=timedelta(minutes=1),
            run=sweeps.recover,
            about=_("Takes messages back from workers that died or hang, and fails those that waited too long."),
            due=sweeps.unfinished,
        )
        register_sweep(
            "outbox_prune",
            every=timedelta(hours=1),
            run=sweeps.prune,
            about=_("Deletes old messages and attempts."),
        )

    @staticmethod
    def register_metrics() -> None:
        from kilit.workers.metrics import register_oldest, registry  # noqa: PLC0415
        from outbox.metrics import OutboxCollector, oldest_due  # noqa: PLC0415
        from outbox.states import MESSAGES  # noqa: PLC0415

        registry.register(OutboxCollector())
        register_oldest(MESSAGES.queue, oldest_due)

    @staticmethod
    def register_texts() -> None:
        """Register where what identifies a person may be quoted, also by a receiver in its answer."""
        from kilit.lock.free_text import register_free_text  # noqa: PLC0415
        from outbox.models import Attempt, Endpoint, OutboxMessage  # noqa: PLC0415
        from outbox.models.message import about, attempts_about, jobs_of, jobs_of_attempts  # noqa: PLC0415

        register_free_text(OutboxMessage, "body", "error_message", about=about, jobs=jobs_of)
        register_free_text(Attempt, "answer", "error_message", about=attempts_about, jobs=jobs_of_attempts)
        register_free_text(Endpoint, "description")
