"""Cutting jobs in the console."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.formats import get_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.api.errors import ApiError
from kilit.console.formatting import joined, with_local_times
from kilit.console.jobs.job_page import JobDescription, JobOffer
from kilit.console.jobs.timeline import Story
from kilit.console.lists.acting import back_address
from kilit.console.lists.actions import Action
from kilit.console.lists.bulk_requests import remember
from kilit.console.lists.fields import DaysForm
from kilit.console.lists.listing import ListLink, ListPage, RowPage
from kilit.console.queue_admin import QueueAdmin
from kilit.csv.writer import csv_response
from kilit.masking import mask_personal_data, mask_phone
from kilit.sentences import english
from orchestrator.admin import columns
from orchestrator.admin.cutting_by_hand import CANCEL_REST, CUT_BY_HAND, FINISH_BY_HAND
from orchestrator.admin.days import changed_days, days_page, due_page, offer_due_date
from orchestrator.admin.estimates import estimate_page, missing_text
from orchestrator.admin.figures import drawn_plans, figures_card, last_month, solution_figures
from orchestrator.admin.job_links import offer_links, piece_link_page, status_link_page
from orchestrator.admin.pieces import pieces_card
from orchestrator.admin.saws import changed_saws, offer_saw, saw_page
from orchestrator.admin.steps import (
    MOST_CONTINUED,
    STEPS,
    HeldCustomersForm,
    add_customers_title,
    holdings,
    send_again_title,
)
from orchestrator.admin.stock import stock_card
from orchestrator.api.jobs import download
from orchestrator.blockers import reasons
from orchestrator.due import DUE_CHANGED, is_used
from orchestrator.errors import Code
from orchestrator.figures.export import export_lines
from orchestrator.job_links import PIECE_LINK, STATUS_LINK
from orchestrator.models import Job, OrderDraft
from orchestrator.models.job import JobQuerySet
from orchestrator.planning.rules import saw_names
from orchestrator.queue import QUEUE
from orchestrator.saw.leftovers import LEFTOVER_REMOVED
from orchestrator.sheets.template import XLSX
from orchestrator.states import BEFORE_OPTIPLANNING, JobState
from orchestrator.workflow import by_hand, decisions
from orchestrator.workflow.saw_choice import SAW_CHOSEN
from orchestrator.workflow.steps import find_sheet

STORY = Story(
    {
        "JOB_CREATED": gettext_lazy("Ordered by %(who)s"),
        "saved": gettext_lazy("New rules saved by %(who)s"),
        "proposed": gettext_lazy("New rules proposed by %(who)s"),
        "declined": gettext_lazy("Proposed rules declined by %(who)s"),
        "prepare": gettext_lazy("Prepared: customer, template and rules are fine"),
        "import_files": gettext_lazy("Sheets written to OptiPlanning's import folder"),
        "start": gettext_lazy("OptiPlanning started"),
        "collect": gettext_lazy("Solution of OptiPlanning stored"),
        "validate": gettext_lazy("Solution checked"),
        "deliver": gettext_lazy("Taken by the saw"),
        "finish": gettext_lazy("Finished"),
        "hold": gettext_lazy("Held until an operator approves"),
        "fail": gettext_lazy("Failed"),
        "approve": gettext_lazy("Approved by %(who)s"),
        "cancel": gettext_lazy("Cancelled by %(who)s"),
        "reuse_solution": gettext_lazy("The stored solution is used; OptiPlanning is not needed"),
        "plan": gettext_lazy("Planned by the built-in optimiser"),
        "await_cutting": gettext_lazy("Plan checked; people cut it"),
        "cut_by_hand": gettext_lazy("Cutting by hand begun"),
        "finish_by_hand": gettext_lazy("Cut by hand"),
        "cancel_rest": gettext_lazy("Rest cancelled by %(who)s"),
        "cancel_uncut": gettext_lazy("Cancelled by %(who)s"),
        by_hand.BOARDS_CUT: gettext_lazy("Boards cut by hand, recorded by %(who)s"),
        "confirm_cut": gettext_lazy("Confirmed by %(who)s: it was cut"),
        "hand_over": gettext_lazy("Handed over to the saw again by %(who)s"),
        "HOLD_APPROVED": gettext_lazy("Approval recorded"),
        "JOB_RETRY_SCHEDULED": gettext_lazy("Retry scheduled"),
        "JOB_DEDUP": gettext_lazy("The same order was sent again by %(who)s"),
        DUE_CHANGED: gettext_lazy("Due date changed by %(who)s"),
        SAW_CHOSEN: gettext_lazy("Saw chosen by %(who)s"),
        STATUS_LINK.created: gettext_lazy("Link for the customer made by %(who)s"),
        STATUS_LINK.withdrawn: gettext_lazy("Link for the customer withdrawn by %(who)s"),
        PIECE_LINK.created: gettext_lazy("Link on the labels made by %(who)s"),
        PIECE_LINK.withdrawn: gettext_lazy("Link on the labels withdrawn by %(who)s"),
        "BACKING_EDGE_RESET": gettext_lazy("Edges of backing parts removed"),
        LEFTOVER_REMOVED: gettext_lazy("A file that a stopped runner had left in a folder was removed"),
    },
    links={
        by_hand.BOARDS_CUT: lambda event: _("%(boards)s of %(of)s, by %(by)s") % event.details,
        DUE_CHANGED: changed_days,
        SAW_CHOSEN: changed_saws,
        "JOB_RETRY_SCHEDULED": lambda event: with_local_times(event.details.get("next_run_at", "")),
    },
)

APPROVE = Action(
    decisions.APPROVE,
    title=gettext_lazy("Approve"),
    done=gettext_lazy("Approved"),
    effect=gettext_lazy("They start again and are checked again. If the cause is not fixed, they are held again."),
    is_done_at_once=True,
)
RETRY = Action(
    decisions.RETRY,
    title=gettext_lazy("Retry"),
    done=gettext_lazy("Scheduled for retry:"),
    effect=gettext_lazy("They start again with a delay that grows each time. Permanent errors are not retried."),
    is_done_at_once=True,
    undo="undo_retry",
)
CONFIRM_CUT = Action(
    decisions.CONFIRM_CUT,
    title=gettext_lazy("It was cut"),
    asks=gettext_lazy("Was it cut?"),
    done=gettext_lazy("Confirmed as cut:"),
    effect=gettext_lazy("They end as done. If a job has several files, those that the saw did not get are delivered."),
)
HAND_OVER = Action(
    decisions.HAND_OVER,
    title=gettext_lazy("Hand it over again"),
    asks=gettext_lazy("Hand it over to the saw again?"),
    done=gettext_lazy("Handed over again:"),
    effect=gettext_lazy("The same solution goes to the saw again: what was cut is cut twice. Ask there first."),
    is_dangerous=True,
)
CANCEL = Action(
    decisions.CANCEL,
    title=gettext_lazy("Cancel"),
    done=gettext_lazy("Cancelled"),
    effect=gettext_lazy("They end as cancelled. Sheets stay in the import folder."),
    is_dangerous=True,
    back_label=gettext_lazy("Back"),
)
# What can be printed from a job. Documents are another queue's, so the installation adds them.
paper_finders: list[Callable[[HttpRequest, Job], list[JobOffer]]] = []


def belongs_to(job: Job) -> SafeString:
    revision = _("revision %(number)s") % {"number": job.revision} if job.revision else ""
    return joined(job.customer_name or _("unknown customer"), revision)


def page_context(request: HttpRequest, row: Job) -> dict[str, object]:
    return {
        **columns.part_table(row.payload["parts"], row, unit="mm"),
        "order_files": row.order_files.defer("content").order_by("pk"),
        "solution_files": row.solution_files.defer("content").order_by("name") if row.xml_sha256 else [],
        "plans": drawn_plans(row),
        "figures_card": figures_card(row),
        "has_estimates": not missing_text(),
        "figures": solution_figures(row),
        "stock": stock_card(row),
        "pieces": pieces_card(row),
        "papers": [offer for find in paper_finders for offer in find(request, row)],
    }


def stored_file(_model_admin: object, _request: HttpRequest, job: Job, *, files: str, number: int) -> HttpResponse:
    file = get_object_or_404(getattr(job, files), pk=number)
    content_type = "application/xml" if files == "solution_files" else "application/octet-stream"
    return download(file.name, bytes(file.content), content_type)


def sheet_file(_model_admin: object, _request: HttpRequest, job: Job, *, number: int) -> HttpResponse:
    if number >= len(job.files):
        raise Http404
    content = find_sheet(job, **job.files[number])
    if content is None:
        gone = _("The sheet is no longer in the import folder, and the template or the rules have changed since.")
        return HttpResponse(gone, status=410, content_type="text/plain; charset=utf-8")
    return download(job.files[number]["name"], content, XLSX)


def add_customers(model_admin: QueueAdmin, request: HttpRequest) -> HttpResponse:
    """Add the customers that jobs wait for, of one phone number or of all, and approve their jobs."""
    if not request.user.has_perm("orchestrator.operate_customer"):
        raise PermissionDenied
    jobs, phone = Job.objects.with_unknown_customer(), request.GET.get("phone")
    jobs = jobs.filter(customer_phone=phone) if phone else jobs
    form = HeldCustomersForm(jobs, request.POST if request.method == "POST" else None)
    if not form.fields:
        messages.info(request, _("No job waits for a customer."))
        return HttpResponseRedirect(model_admin.address("changelist"))
    if not form.is_valid():
        title = add_customers_title(form.fields)
        return model_admin.confirm(request, title=title, form=form, submit=title)
    ids = list(jobs.filter(customer_phone__in=form.cleaned_data).values_list("pk", flat=True)[:MOST_CONTINUED])
    customers, report = form.save(request, APPROVE, ids)
    names = ", ".join(customer.name for customer in customers)
    sentence = ngettext("%(names)s is a customer now.", "%(names)s are customers now.", len(customers))
    messages.add_message(request, report.level, f"{sentence % {'names': names}} {report.sentence}")
    if len(ids) > 1:  # the list shows what becomes of them
        remember(model_admin, request, APPROVE, ids)
    return HttpResponseRedirect(back_address(model_admin, ids, filters="", from_row=len(ids) == 1))


def send_again(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse | None:
    """Send the order of a failed job again, with the next revision, where a retry would be refused."""
    if request.method != "POST":
        sentences = [_("The same order becomes a new job. To change it, have it sent again by its sender.")]
        title = send_again_title(job)
        return model_admin.confirm(request, job, title=title, sentences=sentences, submit=title)
    try:
        sent = decisions.send_again(job.pk)
    except ApiError as refusal:
        messages.warning(request, str(refusal.detail))
        return None
    sentence = _("Order %(order)s was sent again as revision %(number)s.")
    messages.success(request, sentence % {"order": sent.order_id, "number": sent.revision})
    return HttpResponseRedirect(model_admin.address("change", sent.pk))


def figures_page(model_admin: QueueAdmin, request: HttpRequest) -> HttpResponseBase:
    form = DaysForm(request.POST if request.method == "POST" else None, initial=last_month())
    if form.is_valid():
        jobs = Job.objects.finished_between(*form.span())
        is_comma = get_format("DECIMAL_SEPARATOR") == ","
        return csv_response("figures", export_lines(jobs, decimal_comma=is_comma))
    sentences = [
        _("A line for each job that was finished on these days, with its figures and amounts."),
        _("Days are those of your time zone, %(zone)s.") % {"zone": timezone.get_current_timezone_name()},
    ]
    title, submit = _("Figures for the bookkeeper"), _("Download CSV")
    return model_admin.confirm(request, title=title, form=form, sentences=sentences, submit=submit)


@admin.register(Job)
class JobAdmin(QueueAdmin):
    menu = columns.JOBS_MENU
    queue = QUEUE
    actions = (APPROVE, RETRY, CONFIRM_CUT, HAND_OVER, CUT_BY_HAND, FINISH_BY_HAND, CANCEL_REST, CANCEL)
    page = JobDescription(
        states=columns.STATES,
        story=STORY,
        name=lambda job: job.order_id,
        belongs_to=belongs_to,
        state_notes=columns.notes_on_page,
        offers=lambda job, offers, user: offer_links(job, offer_due_date(job, offer_saw(job, offers), user), user),
        blockers=reasons,
        holdings=holdings,
        steps=STEPS,
        choose_primary=lambda _job, offers: offers.get("cut_by_hand") or offers.get("finish_by_hand"),
        copied_fields={"order_id": "order_id", "whole_customer": "customer_phone"},
        priority_states=BEFORE_OPTIPLANNING,
        more_template="admin/orchestrator/job.html",
        wide_template="admin/orchestrator/job_parts.html",
        context=page_context,
    )
    row_pages = {
        "send_again": RowPage(send_again, "operate"),
        "due": RowPage(due_page, "operate"),
        "saw": RowPage(saw_page, "operate"),
        "status_link": RowPage(status_link_page, "operate"),
        "piece_link": RowPage(piece_link_page, "operate"),
        "estimate": RowPage(estimate_page, "operate"),
        "order_file": RowPage(partial(stored_file, files="order_files"), route="order-file/<int:number>"),
        "sheet": RowPage(sheet_file, route="sheet/<int:number>"),
        "solution": RowPage(partial(stored_file, files="solution_files"), route="solution/<int:number>"),
    }
    pause_title = gettext_lazy("Pause the cutting queue?")
    pause_effect = gettext_lazy(
        "No job is started until you resume it. Jobs at OptiPlanning or the saw finish; new orders wait."
    )

    list_display = columns.COLUMNS
    list_select_related = ["customer"]
    search_help_text = gettext_lazy("Order id, phone or customer: the first letters are enough")
    list_pages = {
        **QueueAdmin.list_pages,
        "figures_file": ListPage(figures_page, gettext_lazy("Figures"), route="figures"),
        "days": ListPage(days_page, gettext_lazy("By due date")),
        "add_customers": ListPage(add_customers, permission="operate"),
    }
    fieldsets = columns.FIELDSETS
    export_fields = {
        "id": "pk",
        "orderId": "order_id",
        "revision": "revision",
        "customerPhone": "customer_phone",
        "customerName": "customer_name",
        "mode": "opti_mode",
        "parts": "part_count",
        "retries": "retry_count",
        "errorCode": "error_code",
        "errorMessage": lambda job: english(job.error_message),
        "createdAt": "created_at",
        "failedAt": "updated_at",
    }
    export_states = [JobState.FAILED]
    export_masks = {"customerPhone": mask_phone, "errorMessage": mask_personal_data}
    oldest_means = gettext_lazy("How long the oldest due job has waited for a runner.")
    chart_note = gettext_lazy("A retried job may fail more than once.")

    def get_queryset(self, request: HttpRequest) -> JobQuerySet:
        jobs: JobQuerySet = super().get_queryset(request)
        return jobs.defer("payload", "figures")

    def get_fieldsets(self, request: HttpRequest, obj: Job | None = None) -> Any:
        """Leave out when the saw got a job that people cut."""
        hidden = "handed_at" if obj and obj.by_hand else ""
        return [
            (title, {**options, "fields": [name for name in options["fields"] if name != hidden]})
            for title, options in super().get_fieldsets(request, obj)
        ]

    def get_actions(self, request: HttpRequest) -> dict[str, object]:
        """Offer what people cut only where people cut."""
        offered = super().get_actions(request)
        hidden = () if decisions.is_cut_by_hand() else (CUT_BY_HAND.name, FINISH_BY_HAND.name, CANCEL_REST.name)
        return {name: entry for name, entry in offered.items() if name not in hidden}

    def rows_to_export(self, failed: JobQuerySet) -> JobQuerySet:
        """Leave out what an operator cancelled: it is no error."""
        return failed.exclude(error_code=Code.CANCELLED)

    def links(self, request: HttpRequest, query: str = "") -> list[ListLink]:
        links, days = super().links(request, query), self.address("days")
        return [link for link in links if link.href != days or self.has_due_dates(request)]

    def has_due_dates(self, request: HttpRequest) -> bool:
        """Ask the database once a request; without due dates, nothing is shown of them."""
        if "has_due_dates" not in request.__dict__:
            request.__dict__["has_due_dates"] = is_used()
        return bool(request.__dict__["has_due_dates"])

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        order, state, *others = self.list_display
        due = [columns.due] if self.has_due_dates(request) else []
        saw = [columns.saw] if saw_names() else []
        return [order, state, *due, *saw, *others]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Offer what begins an order, too."""
        drafts = self.admin_site.get_model_admin(OrderDraft).links(request)
        return super().changelist_view(request, {"further_links": drafts, **(extra_context or {})})
