"""`kilit-runner`: run, check, and control the Windows service."""

import argparse
import os
import sys
import threading

import django

from config.settings.startup_errors import one_line_errors

SERVICE_VERBS = {
    "install": "install the Windows service, which starts with Windows",
    "start": "start the service",
    "stop": "stop the service; its job is released first",
    "remove": "remove the service",
}


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    with one_line_errors():
        if options.verb in SERVICE_VERBS:
            return control_service(options)
        set_up()
        return check() if options.verb == "check" else run()


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kilit-runner", description="Works Kilit's cutting jobs on this PC.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    verbs.add_parser("run", help="work in this window until Ctrl-C")
    verbs.add_parser("check", help="print what the runner reaches; exit code 1 if something fails")
    for name, text in SERVICE_VERBS.items():
        verb = verbs.add_parser(name, help=text)
        if name == "install":
            verb.add_argument("--account", help=r"run as this user, as DOMAIN\name; asks for the password")
    return parser.parse_args(arguments)


def check() -> int:
    from config.runner.status import read_status, version

    status = read_status()
    for result in status.checks:
        sys.stdout.write(f"{result.level:<10} {result.name}: {result.message}\n")
    sys.stdout.write(f"kilit-runner {version()}: {'ready' if status.is_ready else 'not ready'}.\n")
    return 0 if status.is_ready else 1


def run() -> int:
    from kilit.workers.processes import die_with_parent, stop_on_signal

    die_with_parent()
    with stop_on_signal() as stop:
        run_until(stop)
    return 0


def control_service(options: argparse.Namespace) -> int:
    try:
        from config.runner.service import control  # Windows only
    except ModuleNotFoundError as error:
        sys.stderr.write(f"kilit: services need Windows and pywin32 ({error}): pip install .[windows]\n")
        return 1
    return control(options.verb, account=getattr(options, "account", None))


def set_up() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.runner.settings"
    django.setup()


def run_until(stop: threading.Event) -> None:
    from config.runner.settings import DATABASE_TIMEOUT, LOG_FILE, RUNNER_PORT
    from config.runner.status import status_page
    from kilit.database.limits import limit_statements
    from orchestrator.workflow.watching import watch

    limit_statements(DATABASE_TIMEOUT)
    with status_page(RUNNER_PORT, log=LOG_FILE):
        watch(stop)
