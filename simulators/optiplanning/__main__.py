import os
import sys

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.server")
    django.setup()

    from simulators.optiplanning.command import Command

    Command().run_from_argv(["python -m", "simulators.optiplanning", *sys.argv[1:]])
