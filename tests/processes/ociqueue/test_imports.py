"""The web process does not import what only workers need."""

from tests.support.commands import run_python

WORKERS_ALONE = (
    "google.ads",
    "google.api_core",
    "google.auth",
    "google.oauth2",
    "grpc",
    "openpyxl",
    "playwright",
    "apprise",
    "ociqueue.uploader.googleads.provider",
    "ociqueue.uploader.datamanager.provider",
)


def test_the_web_process_never_loads_what_only_workers_need() -> None:
    """Google's client alone takes a second and a hundred megabytes."""
    look = (
        "import sys, config.web.wsgi; from django.urls import get_resolver; get_resolver().url_patterns;"
        "from django.contrib import admin; admin.site.urls;"
        f"print([name for name in sys.modules if name.startswith({WORKERS_ALONE})])"
    )

    said = run_python("-c", look, SECRET_KEY="x", DJANGO_SETTINGS_MODULE="config.settings.server")

    assert said.stdout.strip() == "[]", said.stderr
