"""The endpoint of the bookkeeper's file."""

from django.http import StreamingHttpResponse
from rest_framework.request import Request

from kilit.api.openapi import ApiResponse, endpoint
from kilit.csv.writer import csv_response
from orchestrator.api.access import QueueView
from orchestrator.figures.export import export_lines
from orchestrator.models import Job
from orchestrator.schemas.jobs import FinishedSpan


class FiguresFileView(QueueView):
    @endpoint(
        ApiResponse(
            "A line for each job, the first finished first.",
            media={"text/csv": {"type": "string"}},
            headers={"Content-Disposition": "The file's name."},
        ),
        query=FinishedSpan,
    )
    def get(self, request: Request, asked: FinishedSpan) -> StreamingHttpResponse:
        """Download figures and amounts as CSV.

        Of the jobs that were finished in a time span. `prices` is `fixed` for amounts that were stored when the job was
        finished, and `today` for jobs without a stored total, which are by the prices in force.
        """
        return csv_response("figures", export_lines(Job.objects.finished_between(asked.start, asked.end)))
