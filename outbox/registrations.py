"""Bulk actions, problems, pruning, doorbells, sweeps, metrics and secrets of the outbox."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.access.encryption import register_encrypted
from kilit.api.callbacks import register_callback_hosts
from kilit.batches.queues import register_queue
from kilit.lock.free_text import register_free_text
from kilit.lock.pruning import register_prunable
from kilit.problems.queues import register_queue_problems
from kilit.problems.tracking import problems_tracked, register_readers
from kilit.workers.doorbells import register_doorbell
from kilit.workers.metrics import register_oldest, registry
from kilit.workers.sweeps import register_sweep
from outbox import endpoints, log_reader, operations, problems, sending, sweeps
from outbox.alerts import making
from outbox.alerts import sending as alert_sending
from outbox.metrics import OutboxCollector, oldest_due
from outbox.models import Attempt, Channel, Endpoint, OutboxMessage
from outbox.models.message import about, attempts_about, jobs_of, jobs_of_attempts
from outbox.states import MESSAGES

register_callback_hosts(endpoints.callback_hosts)
register_encrypted(Endpoint, "encrypted_secret", "previous_secret")
register_encrypted(Channel, "encrypted_address")
# What identifies a person may be quoted here, also by a receiver in its answer.
register_free_text(OutboxMessage, "body", "error_message", about=about, jobs=jobs_of)
register_free_text(Attempt, "answer", "error_message", about=attempts_about, jobs=jobs_of_attempts)
register_free_text(Endpoint, "description")
registry.register(OutboxCollector())
register_oldest(MESSAGES.queue, oldest_due)
register_queue(operations.QUEUE)
register_queue_problems(operations.QUEUE, *problems.SOURCES)
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
