"""Every address the product answers at."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config import views
from config.api.pages import ApiPage, ApiSchemaView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", include("lifecycle.console.urls")),
    path("admin/", admin.site.urls),
    path("api/schema/", ApiSchemaView.as_view(), name="api-schema"),
    path("api/docs/", admin.site.admin_view(ApiPage.as_view()), name="api-docs"),
    path("api/", include("ociqueue.api.urls")),
    path("pdf/", include("pdfjobs.api.urls")),
    path("", include("orchestrator.api.urls")),
    path("healthz", views.healthz),
    path("readyz", views.readyz),
    path("metrics", views.metrics),
]

handler400 = "config.api.errors.bad_request"
handler403 = "config.api.errors.forbidden"
handler404 = "config.api.errors.not_found"
handler500 = "config.api.errors.server_error"
