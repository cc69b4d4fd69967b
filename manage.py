#!/usr/bin/env python
"""Kilit's command line; `manage.py help` lists the commands."""

import gc
import os
import sys


def main() -> None:
    gc.disable()  # until everything is loaded, which is not garbage; config.apps enables it
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.server")
    from config.settings.startup_errors import one_line_errors

    with one_line_errors():
        if sys.argv[1:] in (["version"], ["--version"]):  # Django would tell its own
            from config.settings.web import BUILD
            from kilit import product_version

            sys.stdout.write(f"{product_version(BUILD)}\n")
            return

        from django.core.management import execute_from_command_line

        from config.settings.secret_key import make_local_secret_key

        make_local_secret_key()
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
