"""What blocks a cutting job, the ways on from its errors that are no operations, and the form that adds customers."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Subquery
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.formatting import ago, number
from kilit.console.jobs import blockers
from kilit.console.jobs.blockers import Blocker
from kilit.console.jobs.job_page import JobOffer, Offers, RowStep
from kilit.console.lists.actions import Action, ActionReport
from kilit.console.lists.fields import text_field
from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from kilit.spans import moment
from kilit.workers.models import Heartbeat, Runner
from orchestrator import sentences
from orchestrator.admin.columns import warning_text
from orchestrator.errors import RULE_CODES, Code
from orchestrator.models import Customer, Job
from orchestrator.models.job import SLOT_TURN, JobQuerySet
from orchestrator.orders.order import order_from
from orchestrator.planning.excel.template import is_template_invalid
from orchestrator.planning.plan import add_text, missing_rules
from orchestrator.planning.rules import rules_error, valid_rules
from orchestrator.queue import QUEUE
from orchestrator.schemas.orders import InvalidOrder, NewCustomer
from orchestrator.states import CANCELLABLE, JOBS, STARTED, JobState, Mode
from orchestrator.workflow.by_hand import boards_of
from orchestrator.workflow.decisions import can_be_sent_again

MOST_CONTINUED = 500  # as many as an action on a selection
MOST_CUSTOMERS = 50  # in one form
ORDERS_NAMED = 3


def format_phone(phone: str) -> str:
    """Return an E.164 number as people read it: +90 555 123 45 67."""
    import phonenumbers

    parsed = phonenumbers.parse(phone)
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)


class HeldCustomersForm(forms.Form):
    """Asks for the names of customers whose jobs wait, each once; one without a name stays unknown."""

    def __init__(self, jobs: JobQuerySet, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self.orders: dict[str, list[str]] = {}
        rows = jobs.order_by("pk").values_list("customer_phone", "order_id", "customer_snapshot_name")
        for phone, order, name in rows[:MOST_CONTINUED]:
            if phone not in self.orders and len(self.orders) == MOST_CUSTOMERS:
                continue
            self.orders.setdefault(phone, []).append(order)
            self._add_field(phone, name)

    def _add_field(self, phone: str, name: str) -> None:
        orders = self.orders[phone]
        waiting = ngettext("%(number)s job waits", "%(number)s jobs wait", len(orders))
        label = _("Name of %(phone)s") % {"phone": format_phone(phone)}
        help_text = f"{waiting % {'number': number(len(orders))}}: {', '.join(orders[:ORDERS_NAMED])}"
        self.fields[phone] = text_field(label, 200, required=False, initial=name, help_text=help_text)

    def clean(self) -> dict[str, str]:
        names = {phone: name.strip() for phone, name in self.cleaned_data.items() if name.strip()}
        for phone, name in names.items():
            try:
                NewCustomer.read({"phone": phone, "name": name})
            except InvalidOrder as invalid:
                self.add_error(phone, [_(error["message"]) for error in invalid.errors])
        if not names:
            self.add_error(next(iter(self.fields), None), _("Enter a name."))
        return names

    def save(self, request: HttpRequest, approve: Action, ids: list[UUID]) -> tuple[list[Customer], ActionReport]:
        """Add the customers and approve their jobs, both or neither; one that was added meanwhile stays as it is."""
        with transaction.atomic(), for_reason(sentences.CUSTOMER_ADDED):
            customers = [self._add(request, phone, name) for phone, name in self.cleaned_data.items()]
            return customers, approve.perform(request.user, ids, {})

    def _add(self, request: HttpRequest, phone: str, name: str) -> Customer:
        customer, is_new = Customer.objects.get_or_create(phone=phone, defaults={"name": name})
        if is_new:
            admin.site.get_model_admin(Customer).log_addition(request, customer, [{"added": {}}])
        return customer


def add_customers_title(phones: Iterable[str]) -> str:
    first, *others = phones
    if not others:
        return _("Add %(phone)s as customer and continue") % {"phone": format_phone(first)}
    return _("Add %(number)s customers and continue their jobs") % {"number": number(len(others) + 1)}


def send_again_title(job: Job) -> str:
    return _("Send again as revision %(number)s") % {"number": job.revision + 1}


def _customers(job: Job, _offers: Offers, user: User | AnonymousUser) -> JobOffer | None:
    is_known = Customer.objects.filter(phone=job.customer_phone).exists()
    if is_known or not user.has_perm("orchestrator.operate_customer"):
        return None
    href = f"{reverse('admin:orchestrator_job_add_customers')}?{urlencode({'phone': job.customer_phone})}"
    form = HeldCustomersForm(Job.objects.with_unknown_customer().filter(customer_phone=job.customer_phone))
    return JobOffer(add_customers_title([job.customer_phone]), href, form=form)


def _rules(job: Job, _offers: Offers, _user: object) -> JobOffer | None:
    """Lead to the rules while they lack something; afterwards the job can be approved or retried."""
    rules = valid_rules()
    missing = missing_rules(order_from(job.payload), rules) if rules else []
    if rules and not missing:
        return None
    return JobOffer(add_text(missing) if missing else _("Open the rules"), rules_address(job))


def rules_address(job: Job) -> str:
    return f"{reverse('admin:orchestrator_rulesversion_changelist')}?job={job.pk}"


def preflight_address() -> str:
    return f"{reverse('admin:orchestrator_rulesversion_changelist')}#preflight"


def _template(_job: Job, _offers: Offers, _user: object) -> JobOffer | None:
    """Lead to the preflight while this machine sees that the template is invalid."""
    return JobOffer(_("Check the template"), preflight_address()) if is_template_invalid() else None


def _started(_job: Job, offers: Offers, _user: object) -> JobOffer | None:
    approve = offers.get("approve")
    return replace(approve, title=_("I have started OptiPlanning")) if approve else None


def _send_again(job: Job, _offers: Offers, _user: object) -> JobOffer | None:
    rules = valid_rules()
    if not rules or not can_be_sent_again(job, rules):
        return None
    return JobOffer(send_again_title(job), reverse("admin:orchestrator_job_send_again", args=[job.pk]))


STEPS: dict[str, RowStep] = {
    "customers": _customers,
    "rules": _rules,
    "template": _template,
    "started": _started,
    "send_again": _send_again,
}


def reasons(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    yield from _reasons(job, timeline)
    if job.warning_code and job.status in CANCELLABLE:
        sentence = _("%(warning)s. Cancel the job and have the order sent again, corrected or with its plate size.")
        yield blockers.blocked(sentence % {"warning": warning_text(job)})


def _reasons(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    match job.status:
        case JobState.DONE:
            yield blockers.ended(_("Done: cut by hand.") if job.by_hand else _("Done: the saw has it."))
        case JobState.HOLD:
            yield from _held_again(job, timeline)
            yield from (blockers.blocked(sentence, **_where(job)) for sentence in QUEUE.entry_of(job).sentences())
            if job.error_code == Code.OPERATOR_TRIGGER_REQUIRED and job.plate_size:
                yield blockers.blocked(_("Choose the plate %(width_mm)s × %(height_mm)s mm.") % job.plate_size)
        case JobState.FAILED:
            yield from blockers.failed(job, **_where(job))
        case _ if job.is_with_people:
            yield _to_be_cut(job)
        case _:
            yield from _working(job, timeline)


def _to_be_cut(job: Job) -> Blocker:
    counts = {"cut": number(job.boards_cut), "boards": number(boards_of(job))}
    if job.boards_cut:
        return blockers.blocked(
            _("Boards cut so far: %(cut)s of %(boards)s. Record the others when they are cut.") % counts
        )
    return blockers.blocked(_("The plan is ready: %(boards)s boards. Cut them, then record it here.") % counts)


def _held_again(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    """Say that the last approval did not help, so that no one waits for what it did."""
    approvals = [event for event in timeline if event.event_type == "HOLD_APPROVED"]
    if approvals and approvals[-1].details.get("was") == job.error_code:
        sentence = _("Approved %(ago)s, and held again for the same reason.")
        yield blockers.blocked(sentence % {"ago": ago(approvals[-1].created_at)})


def _where(job: Job) -> dict[str, str]:
    """Return a link to where the cause can be seen, for everyone who may see the job."""
    if job.error_code in RULE_CODES:
        return {"link": _("Rules"), "href": rules_address(job)}
    if job.error_code == Code.TEMPLATE_INVALID:
        return {"link": _("Preflight"), "href": preflight_address()}
    return {}


def _working(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    is_due = Job.objects.due().filter(pk=job.pk).exists()
    if job.lease_until:
        after = _("the scheduled task orchestrator_release_lapsed releases it")
        yield blockers.held(job.lease_until, timeline, after=after)
        if job.lease_until < timezone.now():
            yield from blockers.overdue("orchestrator_release_lapsed")
    elif not is_due:
        yield blockers.waiting(_("Next check at %(time)s.") % {"time": moment(job.next_run_at)})
    awaited = list(_awaited(job))
    yield from awaited
    if not job.lease_until:
        # What OptiPlanning or the saw already has goes on in a pause.
        pauses = [] if job.status in STARTED else blockers.paused(Job)
        unattended = [*pauses, *_invalid_rules(), *_no_runner(job)]
        yield from unattended
        if not awaited and not unattended and is_due:
            yield blockers.ready(_("seconds"))


def _awaited(job: Job) -> Iterator[Blocker]:
    match job.status:
        case JobState.PREPARED if job.opti_mode == Mode.D:
            yield blockers.waiting(_being_planned(job))
        case JobState.OPTI_IMPORTED:
            yield from _waits_for_slot(job)
        case JobState.OPTI_RUNNING:
            folder = {"folder": settings.OPTI_EXPORT_FOLDER}
            yield blockers.waiting(_("OptiPlanning was started. Waiting for its solution in %(folder)s.") % folder)
        case JobState.XML_READY:
            yield blockers.waiting(_("The saw has not answered yet (%(folder)s).") % {"folder": settings.SAW_FOLDER})


def _being_planned(job: Job) -> str:
    """Return how far the built-in optimizer is; every two seconds it says what it has so far."""
    planning = job.planning if job.lease_until else None
    if not planning:
        return _("Waits for the built-in optimizer: it plans as many jobs at once as the machine has cores to spare.")
    began = datetime.fromisoformat(planning["since"])
    seconds = {"seconds": number(int((timezone.now() - began).total_seconds())), "most": number(planning["seconds"])}
    sentence = _("The built-in optimizer has planned for %(seconds)s seconds, of at most %(most)s.") % seconds
    if "bound" not in planning:
        return sentence
    best = _("Best plan so far: %(boards)s boards; fewer than %(bound)s are not possible.")
    return f"{sentence} {best % {'boards': number(planning['boards']), 'bound': number(planning['bound'])}}"


def _waits_for_slot(job: Job) -> Iterator[Blocker]:
    if job.xml_sha256:  # it only has to be delivered again
        return
    running = Job.objects.filter(status=JobState.OPTI_RUNNING)
    own_turn = Subquery(Job.objects.filter(pk=job.pk).values(turn=SLOT_TURN))
    earlier = Job.objects.waiting_for_slot().alias(turn=SLOT_TURN).filter(turn__lt=own_turn)
    for jobs, sentence in (
        (running, _("OptiPlanning runs one job at a time and is busy with another.")),
        (earlier.order_by("turn"), _("It is the turn of another order, by waiting time and priority.")),
    ):
        if other := jobs.only("pk", "order_id").first():
            link = _("Order %(order)s") % {"order": other.order_id}
            yield blockers.waiting(sentence, link=link, href=reverse("admin:orchestrator_job_change", args=[other.pk]))
            return


def _invalid_rules() -> Iterator[Blocker]:
    if error := rules_error():
        sentence = _("The rules are invalid. Processes that have not read valid rules before are waiting: %(error)s")
        where = {"link": _("Rules"), "href": reverse("admin:orchestrator_rulesversion_changelist")}
        yield blockers.blocked(sentence % {"error": error}, **where)


def _no_runner(job: Job) -> Iterator[Blocker]:
    """A runner can take every job; the workers only quick ones, and only where the folders are."""
    if Runner.objects.alive().filter(queue=JOBS.queue).exists():
        return
    if not settings.FLOOR_IS_HERE:
        sentence = _("No runner is alive on the machine of the folders: manage.py orchestrator_tick --watch.")
    elif job.takes_long():
        sentence = _("The next step takes long, and no runner is alive: manage.py orchestrator_tick --watch.")
    elif Heartbeat.objects.alive().exists():
        return
    else:
        sentence = _("No worker and no runner is alive: manage.py runworkers, or orchestrator_tick --watch.")
    yield blockers.blocked(sentence, link=_("Workers"), href=reverse("console:workers"))


def holdings(job: Job) -> list[tuple[str, object]]:
    facts = blockers.lease_holdings(job)
    if job.status == JobState.OPTI_RUNNING:
        facts.append((_("Slot"), _("OptiPlanning (one job at a time)")))
    if job.open_deliveries and job.status == JobState.FAILED:
        facts.append((_("The saw may have"), ", ".join(map(str, job.open_deliveries))))
    if job.delivery_names and job.status in (JobState.XML_READY, JobState.DELIVERED, JobState.DONE):
        facts.append((_("Delivered to the saw as"), ", ".join(map(str, job.delivery_names))))
    return facts
