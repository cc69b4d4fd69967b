"""The limit of a key holds over all processes that answer, and says when to come back."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kilit.access.models import ApiKey, RateWindow
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE
from tests.support.workers import database_url

LIMIT, PROCESSES, EACH = 5, 3, 4
# A web process of its own: nothing in its memory is shared with the others. A line lets it ask.
ASK = """
import os, sys, django
django.setup()
from django.test import Client
client = Client(headers={"x-api-key": os.environ["KEY"]})
print("ready", flush=True)
for _ in sys.stdin:
    for _ in range(int(os.environ["TIMES"])):
        answer = client.get("/jobs/none")
        print(answer.status_code, answer.headers.get("Retry-After", ""), flush=True)
"""


@contextmanager
def web_processes(key: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Run processes that are ready to ask with a key, and end them."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": database_url(),
        "KILIT_RATE_PER_MINUTE": str(LIMIT),
        "KEY": key,
        "TIMES": str(EACH),
    }
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-c", ASK]
    started = [subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes) for _ in range(PROCESSES)]
    try:
        assert [process.stdout.readline() for process in started if process.stdout] == ["ready\n"] * PROCESSES
        yield started
    finally:
        for process in started:
            process.communicate(timeout=PATIENCE)


def ask_all(processes: list[subprocess.Popen[str]]) -> list[list[str]]:
    """Let all ask at once; return status and Retry-After of each answer."""
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.stdout.readline().split() for process in processes if process.stdout for _ in range(EACH)]


@pytest.mark.django_db(transaction=True)
def test_processes_share_one_limit_and_others_get_retry_after() -> None:
    key = ApiKey.objects.issue(User.objects.create_superuser("shop"), name="test")[1]

    with web_processes(key) as processes:
        responses = ask_all(processes)
        if RateWindow.objects.get().hits != PROCESSES * EACH:  # the minute ended among them
            RateWindow.objects.all().delete()
            responses = ask_all(processes)

    assert [status for status, *_ in responses].count("404") == LIMIT
    refused = [int(waits[0]) for status, *waits in responses if status == "429"]
    assert len(refused) == PROCESSES * EACH - LIMIT
    assert all(1 <= seconds <= 60 for seconds in refused)


@pytest.mark.django_db(transaction=True)
def test_of_many_requests_at_once_no_more_than_the_limit_are_answered(in_threads: Any, settings: Any) -> None:
    settings.RATE_PER_MINUTE = LIMIT
    user = User.objects.create_superuser("shop")
    key, other = (ApiKey.objects.issue(user, name=name)[1] for name in ("one", "other"))

    def rush() -> list[int]:
        def ask(_: int) -> int:
            return Client(headers={"x-api-key": key}).get("/jobs/none").status_code

        return in_threads(ask, count=12)

    answers = rush()
    if answers.count(404) != LIMIT:  # the minute ended among them, which it does not twice in a row
        RateWindow.objects.all().delete()
        answers = rush()

    assert (answers.count(404), answers.count(429)) == (LIMIT, 12 - LIMIT)
    assert Client(headers={"x-api-key": other}).get("/jobs/none").status_code == 404
