from django.urls import path

from pdfjobs.api.download import DownloadView
from pdfjobs.api.jobs import PdfJobsView, PdfJobView
from pdfjobs.api.templates import TemplatesView

urlpatterns = [
    path("templates", TemplatesView.as_view(), name="pdf-templates"),
    path("jobs", PdfJobsView.as_view(), name="pdf-jobs"),
    path("jobs/<str:job_id>", PdfJobView.as_view(), name="pdf-job"),
    path("jobs/<str:job_id>/download", DownloadView.as_view(), name="pdf-download"),
]
