"""Addresses of the PDF queue."""

from django.urls import path

from pdfjobs.api.download import DownloadView
from pdfjobs.api.jobs import JobsView, JobView
from pdfjobs.api.templates import TemplatesView

urlpatterns = [
    path("templates", TemplatesView.as_view(), name="pdf-templates"),
    path("jobs", JobsView.as_view(), name="pdf-jobs"),
    path("jobs/<str:job_id>", JobView.as_view(), name="pdf-job"),
    path("jobs/<str:job_id>/download", DownloadView.as_view(), name="pdf-download"),
]
