"""The queue of cutting jobs; its work is done where the saw is."""

from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from kilit.access.key_scopes import KeyScope
from kilit.api.queue_api import QueueApi
from kilit.audit.checks import register_audit_check
from kilit.batches.error_entries import ErrorEntry
from kilit.batches.queues import Keeping, Queue, register
from kilit.lock.free_text import FreeText
from kilit.workers.doorbells import Doorbell
from kilit.workers.sweeps import Sweep
from orchestrator import metrics, webhooks
from orchestrator.cutting.audited import differing_jobs
from orchestrator.error_entries import FAILED, HELD, retried_out
from orchestrator.filters import FILTERS
from orchestrator.models import Customer, Job, OrderDraft
from orchestrator.orders import enqueue
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.states import JOBS, JobState
from orchestrator.workflow import runner
from orchestrator.workflow.by_hand import CUT_BY_HAND, FINISH_BY_HAND
from orchestrator.workflow.decisions import APPROVE, CANCEL, CONFIRM_CUT, HAND_OVER, RETRY, is_retried_out
from orchestrator.workflow.half_cut import CANCEL_REST


class CuttingQueue(Queue):
    def entry(self, code: str, state: str = "") -> ErrorEntry:
        may_be_held = state == JobState.HOLD or code not in self.errors
        return HELD[code] if may_be_held and code in HELD else super().entry(code)

    def entry_of(self, row: Job) -> ErrorEntry:
        entry = super().entry_of(row)
        return retried_out(entry) if is_retried_out(row) else entry


QUEUE = CuttingQueue(
    JOBS,
    Job,
    FILTERS,
    (APPROVE, RETRY, CONFIRM_CUT, HAND_OVER, CUT_BY_HAND, FINISH_BY_HAND, CANCEL_REST, CANCEL),
    title=_("Panel cutting"),
    errors=FAILED,
    doorbells=[Doorbell(enqueue.BELL, due=runner.due_rows, handler=runner.handle_bell)]
    if settings.FLOOR_IS_HERE
    else (),
    sweeps=[
        Sweep(
            "orchestrator_release_lapsed",
            every=timedelta(seconds=30),
            run=lambda: f"Released {release_lapsed()}.",
            about=_("Releases cutting jobs of dead runners."),
            due=lambda: [Job.objects.lapsed()],
            preview=lambda: f"Would release {Job.objects.lapsed().count()}.",
        ),
        Sweep(
            "orchestrator_forget_drafts",
            every=timedelta(days=1),
            run=lambda: f"Deleted {OrderDraft.objects.forget_old()}.",
            about=_("Deletes drafts of orders that were not sent or changed for 90 days."),
        ),
    ],
    free_text=[FreeText(Customer, ("address", "tax_office"))],
    kept_names=("customer_phone", "customer_snapshot_name"),  # an order is kept, with whom it is for
    keeping=Keeping.FOREVER,
    badly=(JobState.FAILED,),
    alarming_share=metrics.ALARMING_SHARE,
    fewest_ended=metrics.FEWEST_COUNTED,
    paused_title=_("Cutting queue paused by %(person)s"),
    oldest=metrics.oldest_due,
    metrics=[metrics.CuttingCollector()],
    webhooks=webhooks.KINDS,
    api=QueueApi(
        "",
        "orchestrator.api.urls",
        tags={"Cutting jobs": "Orders on their way to the saw; viewers can read, operators can act."},
        kinds=dict.fromkeys(
            ("/jobs", "/jobs/", "/customers", "/customers/", "/order-status/", "/piece/"), "api_cutting"
        ),
        scopes={KeyScope.ENQUEUE: _("orders")},
    ),
)
register(QUEUE)
register_audit_check("cutting_job", differing_jobs)
