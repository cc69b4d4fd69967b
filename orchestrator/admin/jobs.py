"""Jobs in the console: where each stands, what it is made of, what to do, and the verbs of an operator."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path

from lifecycle.console.dress import badge, button, page
from lifecycle.console.queues import QueueAdmin
from orchestrator import deadletters
from orchestrator.admin import showing
from orchestrator.admin.actions import APPROVE, CANCEL, RETRY
from orchestrator.admin.listing import FILTERS, search
from orchestrator.advice import advice
from orchestrator.api.jobs import download
from orchestrator.models import Job
from orchestrator.models.queryset import JobQuerySet
from orchestrator.preflight import Level, preflight
from orchestrator.states import JOBS

MOST_PARTS_SHOWN = 200
LEVELS = {Level.PASS: "success", Level.WARN: "warning", Level.FAIL: "danger"}


@admin.register(Job)
class JobAdmin(QueueAdmin):
    """Cutting jobs, newest first."""

    table = JOBS
    operations = (APPROVE, RETRY, CANCEL)

    list_display = showing.COLUMNS
    list_filter = FILTERS
    list_select_related = ["customer"]
    search_help_text = "A whole id, order id or phone"
    actions_list = ["preflight", "dead_letters"]
    change_form_before_template = "admin/orchestrator/advice.html"
    change_form_outer_after_template = "admin/orchestrator/job.html"
    fieldsets = showing.FIELDSETS
    readonly_fields = showing.READ_ONLY
    dead_letter_columns = deadletters.COLUMNS

    # What is shown

    def get_queryset(self, request: HttpRequest) -> JobQuerySet:
        """A list needs no payload, which may hold five thousand parts."""
        jobs: JobQuerySet = super().get_queryset(request)
        return jobs.defer("payload")

    def search(self, rows: JobQuerySet, text: str) -> JobQuerySet:
        """Find whole words only."""
        return search(rows, text)

    def about(self, row: Job) -> dict[str, Any]:
        """Add what to do, parts, files and figures."""
        return {
            "advice": advice(row),
            **showing.part_table(row.payload["parts"][:MOST_PARTS_SHOWN]),
            "parts_beyond": max(0, row.part_count - MOST_PARTS_SHOWN),
            "solution_files": row.solution_files.defer("content").order_by("name") if row.xml_sha256 else [],
            "figures": showing.figures(row.solution if row.xml_sha256 else None),
            "timeline": showing.timeline(super().about(row)["timeline"]),
        }

    def dead_letter_cells(self, row: Job) -> list[Any]:
        """Tell a failed job."""
        return deadletters.cells(row)

    # Pages

    @button(description="Preflight", icon="fact_check", permissions=["view"], url_path="preflight")
    def preflight(self, request: HttpRequest) -> HttpResponse:
        """Show whether folders, template, rules and command are as jobs need them (ORC-23)."""
        checks = [(check, badge(check.level, LEVELS[check.level])) for check in preflight()]
        facts = {"checks": checks, "floor_is_here": settings.FLOOR_IS_HERE}
        return page(self, request, "admin/orchestrator/preflight.html", title="Preflight", **facts)

    def solution_file(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        """Hand out one file of a job's solution."""
        job = self.get_object(request, unquote(object_id))
        file = job and job.solution_files.filter(pk=number).first()
        if not file or not self.has_view_permission(request, job):
            raise Http404
        return download(file.name, bytes(file.content), "application/xml")

    def get_urls(self) -> list[Any]:
        """Give solution files addresses."""
        file = self.admin_site.admin_view(self.solution_file)
        return [
            path("<path:object_id>/solution/<int:number>/", file, name="orchestrator_job_solution"),
            *super().get_urls(),
        ]
