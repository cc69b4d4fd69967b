"""`python -m tests.loadtest`."""

import os
import sys

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.server")
    django.setup()

    from tests.loadtest.command import Command

    Command().run_from_argv(["python -m", "tests.loadtest", *sys.argv[1:]])
