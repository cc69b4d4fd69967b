"""`GET /pdf/jobs/{id}/download`: the bytes, or why there are none."""

from http import HTTPStatus

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.api.errors import ApiError
from pdfjobs.api import schema
from pdfjobs.api.jobs import made
from pdfjobs.api.views import PdfView
from pdfjobs.enqueue import note_lost
from pdfjobs.file_response import ArtifactMissingError, serve
from pdfjobs.models import PdfJob
from pdfjobs.states import UNFINISHED, ErrorCode, PdfStatus

ASK_AGAIN_AFTER = 2  # seconds


@schema.download
class DownloadView(PdfView):
    def get(self, request: Request, job_id: str) -> Response | HttpResponseBase:
        job = self.job(request, job_id)
        if job.status in UNFINISHED:
            return Response(made(job), status=202, headers={"Retry-After": str(ASK_AGAIN_AFTER)})
        if job.status == PdfStatus.FAILED:
            words = f"The PDF could not be made: {ErrorCode(job.error_code).label}."
            raise ApiError(409, job.error_code, words, job_id=job.job_id, state=job.status)
        if job.status == PdfStatus.SUCCEEDED:
            try:
                return self.checked(serve(request, job, as_attachment=True), job)
            except ArtifactMissingError:
                note_lost(job)
        raise gone(job)

    def checked(self, answer: HttpResponseBase, job: PdfJob) -> HttpResponseBase:
        """Refuse a range beyond the end in the shape of all refusals."""
        if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self.headers["Content-Range"] = answer["Content-Range"]
            words = f"The PDF has {job.artifact_size:,} bytes; the range lies beyond them."
            raise ApiError(answer.status_code, "RANGE_NOT_SATISFIABLE", words, size=job.artifact_size)
        return answer

    head = get


def gone(job: PdfJob) -> ApiError:
    """Return the refusal of a job whose file is no more."""
    words = "The PDF is no longer kept; ask for the document again to have it made anew."
    return ApiError(410, "EXPIRED", words, job_id=job.job_id)
