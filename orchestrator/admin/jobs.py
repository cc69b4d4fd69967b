"""Jobs in the console: where each stands, what it is made of, what to do, and the verbs of an operator."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path

from lifecycle.admin import ReadOnlyAdmin
from lifecycle.models import Event
from orchestrator.admin import confirming, showing
from orchestrator.admin.actions import ACTIONS, APPROVE, CANCEL, RETRY
from orchestrator.admin.dress import badge, button, page
from orchestrator.admin.listing import FILTERS, CappedChangeList, CappedPaginator, search
from orchestrator.advice import advice
from orchestrator.api.jobs import download
from orchestrator.models import Job
from orchestrator.models.queryset import JobQuerySet
from orchestrator.preflight import Level, preflight
from orchestrator.states import JOBS

MOST_EVENTS = 500
MOST_PARTS_SHOWN = 200
LEVELS = {Level.PASS: "success", Level.WARN: "warning", Level.FAIL: "danger"}
JOB_BUTTONS = {"approve_job": APPROVE, "retry_job": RETRY, "cancel_job": CANCEL}


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Cutting jobs, newest first."""

    list_display = showing.COLUMNS
    list_filter = FILTERS
    list_select_related = ["customer"]
    list_per_page = 50
    list_max_show_all = 0
    list_disable_select_all = True
    list_fullwidth = True
    list_after_template = "admin/ociqueue/room_for_actions.html"
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    search_fields = ["=id"]  # shows the box; `search` says what is found
    search_help_text = "A whole id, order id or phone"
    actions = ["approve", "retry", "cancel"]  # type: ignore[assignment]
    actions_list = ["preflight"]
    actions_detail = list(JOB_BUTTONS)
    change_form_before_template = "admin/orchestrator/advice.html"
    change_form_outer_after_template = "admin/orchestrator/job.html"
    fieldsets = showing.FIELDSETS
    readonly_fields = showing.READ_ONLY

    # What is shown

    def get_queryset(self, request: HttpRequest) -> JobQuerySet:
        """A list needs no payload, which may hold five thousand parts."""
        jobs: JobQuerySet = super().get_queryset(request)
        return jobs.defer("payload")

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        """List without a total."""
        return CappedChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: JobQuerySet, search_term: str
    ) -> tuple[JobQuerySet, bool]:
        """Find whole words only."""
        return (search(queryset, search_term) if search_term.strip() else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Take the filters that are offered, and no others from the address."""
        return lookup in {offered.parameter_name for offered in FILTERS}

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        """Add what to do, parts, files, figures and the timeline."""
        job: Job | None = self.get_object(request, unquote(object_id))
        options["extra_context"] = {"show_history": False}
        if job:
            options["extra_context"] |= {
                "advice": advice(job),
                **showing.part_table(job.payload["parts"][:MOST_PARTS_SHOWN]),
                "parts_beyond": max(0, job.part_count - MOST_PARTS_SHOWN),
                "solution_files": job.solution_files.defer("content").order_by("name") if job.xml_sha256 else [],
                "figures": showing.figures(job.solution if job.xml_sha256 else None),
                "timeline": showing.timeline(Event.objects.of(job)[:MOST_EVENTS]),
            }
        return super().change_view(request, object_id, *args, **options)  # type: ignore[no-any-return]

    # Actions

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Operators act; viewers see no action."""
        return request.user.has_perm("orchestrator.operate_job")

    @admin.action(description=APPROVE.label, permissions=["operate"])
    def approve(self, request: HttpRequest, queryset: JobQuerySet) -> HttpResponse | None:
        """Ask before approving."""
        return confirming.ask_for_selected(self, request, APPROVE, queryset)

    @admin.action(description=RETRY.label, permissions=["operate"])
    def retry(self, request: HttpRequest, queryset: JobQuerySet) -> HttpResponse | None:
        """Ask before retrying."""
        return confirming.ask_for_selected(self, request, RETRY, queryset)

    @admin.action(description=CANCEL.label, permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: JobQuerySet) -> HttpResponse | None:
        """Ask before cancelling."""
        return confirming.ask_for_selected(self, request, CANCEL, queryset)

    @button(description=APPROVE.title, icon="check", permissions=["operate"], url_path="approve")
    def approve_job(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before approving this job."""
        return confirming.ask_for_job(self, request, APPROVE, object_id)

    @button(description=RETRY.title, icon="replay", permissions=["operate"], url_path="retry")
    def retry_job(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before retrying this job."""
        return confirming.ask_for_job(self, request, RETRY, object_id)

    @button(description=CANCEL.title, icon="block", danger=True, permissions=["operate"], url_path="cancel")
    def cancel_job(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before cancelling this job."""
        return confirming.ask_for_job(self, request, CANCEL, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Offer the verbs that apply to the job's state, and no others."""
        job = self.get_object(request, unquote(object_id))
        verbs = JOBS.verbs_from(job.status) if job else ()
        apply = {f"orchestrator_job_{name}" for name, action in JOB_BUTTONS.items() if action.verb in verbs}
        return [offered for offered in super().get_actions_detail(request, object_id) if offered.action_name in apply]

    def response_action(self, request: HttpRequest, queryset: JobQuerySet) -> HttpResponse | None:
        """Refuse a selection made by hand of what is no id."""
        try:
            return super().response_action(request, queryset)  # type: ignore[no-any-return]
        except ValidationError:
            raise BadRequest("Not an id.") from None

    # Pages

    @button(description="Preflight", icon="fact_check", permissions=["view"], url_path="preflight")
    def preflight(self, request: HttpRequest) -> HttpResponse:
        """Show whether folders, template, rules and command are as jobs need them (ORC-23)."""
        checks = [(check, badge(check.level, LEVELS[check.level])) for check in preflight()]
        facts = {"checks": checks, "floor_is_here": settings.FLOOR_IS_HERE}
        return page(self, request, "orchestrator/preflight.html", title="Preflight", **facts)

    def solution_file(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        """Hand out one file of a job's solution."""
        job = self.get_object(request, unquote(object_id))
        file = job and job.solution_files.filter(pk=number).first()
        if not file or not self.has_view_permission(request, job):
            raise Http404
        return download(file.name, bytes(file.content), "application/xml")

    def get_urls(self) -> list[Any]:
        """Give confirmations and solution files addresses."""
        act = self.admin_site.admin_view(lambda request, verb: confirming.act(self, request, ACTIONS.get(verb)))
        file = self.admin_site.admin_view(self.solution_file)
        return [
            path("act/<str:verb>/", act, name="orchestrator_job_act"),
            path("<path:object_id>/solution/<int:number>/", file, name="orchestrator_job_solution"),
            *super().get_urls(),
        ]
