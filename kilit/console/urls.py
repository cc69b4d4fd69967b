"""Pages of the console that are of no model."""

from django.contrib import admin
from django.urls import path

from kilit.console.dashboard import part
from kilit.console.workers_page import workers_page

app_name = "console"
urlpatterns = [
    path("dashboard/", part, name="dashboard"),
    path("workers/", admin.site.admin_view(workers_page), name="workers"),
]
