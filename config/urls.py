"""All URLs of the product."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from config.papers import console as papers
from config.papers.api import PaperView
from config.web import cron
from config.web.views import metrics
from kilit.api import probes
from kilit.api.pages import ApiPage, ApiSchemaView
from kilit.api.queue_api import apis
from kilit.console.account.login_pages import LoginPage
from kilit.console.account.login_pages import urls as login
from kilit.console.account.oidc_pages import urls as oidc
from kilit.console.account.password_pages import urls as password_reset
from kilit.console.account.preferences import preferences
from kilit.console.account.second_factor_pages import urls as second_factor
from kilit.console.command_search import command_search
from kilit.console.dashboard import live
from kilit.console.dashboard import page as dashboard
from kilit.console.dashboard.workers_page import run_task, workers_page
from kilit.console.lists.saved_views import saved_views

admin.autodiscover()

console = [
    path("dashboard/", dashboard.part, name="dashboard"),
    path("search/", admin.site.admin_view(command_search), name="search"),
    path("views/", admin.site.admin_view(saved_views), name="views"),
    path("live/", admin.site.admin_view(live.banner), name="live"),
    path("workers/", admin.site.admin_view(workers_page), name="workers"),
    path("workers/<str:name>/run/", admin.site.admin_view(run_task), name="run_task"),
]
paper_urls = []
if not {"orchestrator", "pdfjobs"} & {*settings.APPS_OFF}:
    console += [
        path("papers/<uuid:job_id>/<str:kind>/", admin.site.admin_view(papers.print_paper), name="print"),
        path("papers/<uuid:pdf_id>/", admin.site.admin_view(papers.show_paper), name="paper"),
    ]
    paper_urls = [path("jobs/<str:pk>/papers/<str:kind>", PaperView.as_view())]
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", include((console, "console"))),
    path("admin/preferences/", admin.site.admin_view(preferences), name="preferences"),
    path("admin/language/", set_language, name="set_language"),
    path("admin/login/", LoginPage.as_view(), name="account_login"),  # before the admin's own
    path("admin/login/", include(login)),
    path("admin/login/oidc/", include(oidc)),
    path("admin/password-reset/", include(password_reset)),
    path("admin/second-factor/", include(second_factor)),
    path("admin/", admin.site.urls),
    path("api/schema/", ApiSchemaView.as_view(), name="api-schema"),
    path("api/docs/", admin.site.admin_view(ApiPage.as_view()), name="api-docs"),
    *paper_urls,
    path("api/cron/", include([*cron.urls()])),
    path("", include("kilit.ask.rest")),
    path("", include("kilit.ask.mcp")),
    *(path(api.path, include(api.urls)) for api in apis),
    path("healthz", probes.healthz),
    path("readyz", probes.readyz),
    path("metrics", metrics),
]

handler400 = "kilit.api.errors.bad_request"
handler403 = "kilit.api.errors.forbidden"
handler404 = "kilit.api.errors.not_found"
handler500 = "kilit.api.errors.server_error"
