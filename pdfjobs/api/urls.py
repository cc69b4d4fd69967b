from django.urls import path

from pdfjobs.api import downloads, jobs

urlpatterns = [
    path("templates", jobs.TemplatesView.as_view(), name="pdf-templates"),
    path("jobs", jobs.PdfJobsView.as_view(), name="pdf-jobs"),
    path("jobs/<str:job_id>", jobs.PdfJobView.as_view(), name="pdf-job"),
    path("jobs/<str:job_id>/download", downloads.DownloadView.as_view(), name="pdf-download"),
    path("jobs/<str:job_id>/link", downloads.CreateLinkView.as_view(), name="pdf-create-link"),
    path("links/<str:token>", downloads.LinkView.as_view(), name="pdf-link"),
]
