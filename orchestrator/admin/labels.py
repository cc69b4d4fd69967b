"""What cutting jobs and customers are called in the console."""

from django.utils.translation import gettext_lazy as _

from kilit.console.labels import label
from orchestrator.models import Customer, Job

label(
    Job,
    _("job"),
    _("jobs"),
    order_id=_("order id"),
    opti_mode=_("mode"),
    backing_edge_reset_count=_("backing parts whose edges were emptied"),
    created_at=_("created at"),
    updated_at=_("updated at"),
    next_run_at=_("next run"),
    retry_count=_("retries"),
    imported_at=_("sheets imported at"),
    opti_started_at=_("OptiPlanning started at"),
    handed_at=_("handed to the saw at"),
    finished_at=_("finished at"),
)
label(Customer, _("customer"), _("customers"), phone=_("phone"), name=_("name"), created_at=_("created at"))
