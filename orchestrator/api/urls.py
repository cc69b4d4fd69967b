"""URLs of jobs and customers."""

from django.urls import path

from orchestrator.api import estimates, imports, jobs, piece_page, status_link, status_page

urlpatterns = [
    path("jobs", jobs.JobsView.as_view()),
    path("jobs/estimate", estimates.EstimateView.as_view()),
    path("jobs/import", imports.ImportView.as_view()),
    path("jobs/import/template", imports.TemplateView.as_view()),
    path("jobs/figures.csv", jobs.FiguresFileView.as_view()),
    path("jobs/<str:pk>", jobs.JobView.as_view()),
    path("jobs/<str:pk>/retry", jobs.RetryView.as_view()),
    path("jobs/<str:pk>/approve", jobs.ApproveView.as_view()),
    path("jobs/<str:pk>/cancel", jobs.CancelView.as_view()),
    path("jobs/<str:pk>/confirm-cut", jobs.ConfirmCutView.as_view()),
    path("jobs/<str:pk>/hand-over", jobs.HandOverView.as_view()),
    path("jobs/<str:pk>/cut-by-hand", jobs.CutByHandView.as_view()),
    path("jobs/<str:pk>/cancel-rest", jobs.CancelRestView.as_view()),
    path("jobs/<str:pk>/status-link", status_link.StatusLinkView.as_view()),
    path("jobs/<str:pk>/xml", jobs.XmlView.as_view()),
    path("customers", jobs.CustomersView.as_view()),
    path("order-status/<str:token>", status_page.status_page, name="order-status"),
    path("piece/<str:token>/<int:part>/<int:piece>", piece_page.piece_page, name="piece"),
    path("customers/lookup", jobs.LookupView.as_view()),
]
