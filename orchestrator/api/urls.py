"""The queue's addresses below /api/."""

from django.urls import path

from orchestrator.api import customers, jobs

urlpatterns = [
    path("orchestrator/jobs", jobs.JobsView.as_view()),
    path("orchestrator/jobs/<str:pk>", jobs.JobView.as_view()),
    path("orchestrator/jobs/<str:pk>/retry", jobs.DecisionView.as_view(verb="retry")),
    path("orchestrator/jobs/<str:pk>/approve", jobs.DecisionView.as_view(verb="approve")),
    path("orchestrator/jobs/<str:pk>/cancel", jobs.DecisionView.as_view(verb="cancel")),
    path("orchestrator/jobs/<str:pk>/xml", jobs.XmlView.as_view()),
    path("orchestrator/customers", customers.CustomersView.as_view()),
    path("orchestrator/customers/lookup", customers.LookupView.as_view()),
]
