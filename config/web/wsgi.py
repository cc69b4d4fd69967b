"""The WSGI application."""

import os

from django.core.wsgi import get_wsgi_application

from config.settings.startup_errors import one_line_errors
from config.web.address_kinds import kind_of
from kilit.web.counter import CountedApplication

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.server")

with one_line_errors():
    application = CountedApplication(get_wsgi_application(), kind_of)
