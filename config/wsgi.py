"""The WSGI application."""

import os

from django.core.wsgi import get_wsgi_application

from config.startup_errors import one_line_errors

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

with one_line_errors():
    application = get_wsgi_application()
