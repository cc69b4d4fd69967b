"""The runner and its page need nothing that only POSIX has."""

import pytest

from orchestrator.models import Customer, Job
from tests.support.commands import run_python
from tests.support.cutting_jobs import make_job
from tests.support.workers import database_url

pytestmark = pytest.mark.django_db(transaction=True)

# What Windows lacks is taken away before anything of ours is loaded; others' modules have a Windows of their own.
AS_ON_WINDOWS = """
import multiprocessing.util, os, psutil, psycopg, signal, subprocess, sys, tempfile
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "killpg", "getpgid", "getpgrp", "setsid", "register_at_fork", "geteuid", "getuid"):
    delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGUSR1"):
    delattr(signal, name)
from config.runner.main import set_up
set_up()
from config.runner import status
from django.core.management import call_command
assert "PASS" in status.render("en", log=status.HERE)
call_command("orchestrator_tick")
"""


def test_a_tick_without_anything_of_posix(floor, tmp_path) -> None:
    Customer.objects.create(phone="+905551234567", name="Ayşe")
    job = make_job(opti_mode="C")
    ended = run_python(
        "-c",
        AS_ON_WINDOWS,
        DATABASE_URL=database_url(),
        KILIT_HOME=str(tmp_path),
        KILIT_FLOOR=str(floor.imports.parent),
    )

    assert ended.stdout == "Worked 1.\n", ended.stderr
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("HOLD", "E_OPERATOR_TRIGGER_REQUIRED")
    assert Job.objects.count() == 1
