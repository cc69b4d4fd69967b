"""`python -m tests.tools.load`."""

import os
import sys

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.server")
    django.setup()

    from tests.tools.load.command import Command

    Command().run_from_argv(["python -m", "tests.tools.load", *sys.argv[1:]])
