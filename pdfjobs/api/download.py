"""`GET /pdf/jobs/{id}/download`."""

from http import HTTPStatus

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.api.errors import ApiError
from pdfjobs.api import schema
from pdfjobs.api.jobs import created_body
from pdfjobs.api.views import PdfView
from pdfjobs.enqueue import expire_missing
from pdfjobs.file_response import ArtifactMissingError, file_response
from pdfjobs.models import PdfJob
from pdfjobs.states import UNFINISHED, ErrorCode, PdfStatus

POLL_AFTER = 2  # seconds


@schema.download
class DownloadView(PdfView):
    def get(self, request: Request, job_id: str) -> Response | HttpResponseBase:
        job = self.job(request, job_id)
        if job.status in UNFINISHED:
            return Response(created_body(job), status=202, headers={"Retry-After": str(POLL_AFTER)})
        if job.status == PdfStatus.FAILED:
            message = f"The PDF could not be rendered: {ErrorCode(job.error_code).label}."
            raise ApiError(409, job.error_code, message, job_id=job.job_id, state=job.status)
        if job.status == PdfStatus.SUCCEEDED:
            try:
                return self.checked(file_response(request, job, as_attachment=True), job)
            except ArtifactMissingError:
                expire_missing(job)
        message = "The PDF is no longer available; request the document again."
        raise ApiError(410, "EXPIRED", message, job_id=job.job_id)

    def checked(self, response: HttpResponseBase, job: PdfJob) -> HttpResponseBase:
        """Give a range beyond the end the body of all API errors."""
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self.headers["Content-Range"] = response["Content-Range"]
            message = f"The PDF has {job.artifact_size:,} bytes; the range is beyond its end."
            raise ApiError(response.status_code, "RANGE_NOT_SATISFIABLE", message, size=job.artifact_size)
        return response

    head = get
