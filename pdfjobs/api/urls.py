from django.urls import path

from pdfjobs.api import jobs

urlpatterns = [
    path("templates", jobs.TemplatesView.as_view(), name="pdf-templates"),
    path("jobs", jobs.PdfJobsView.as_view(), name="pdf-jobs"),
    path("jobs/<str:job_id>", jobs.PdfJobView.as_view(), name="pdf-job"),
    path("jobs/<str:job_id>/download", jobs.DownloadView.as_view(), name="pdf-download"),
]
