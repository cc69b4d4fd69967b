"""A machine with other rules than those saved last plans nothing, and everyone can see which machine that is."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from kilit.lock.audit import acting_as
from kilit.sentences import stored
from kilit.workers.models import Runner
from kilit.workers.presence import present
from orchestrator import sentences
from orchestrator.blockers import reasons
from orchestrator.cutting.estimates import estimate
from orchestrator.errors import JobError
from orchestrator.models import Job, RulesVersion
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from orchestrator.planning.rules_history import RulesUnchanged, digest, save_rules
from orchestrator.states import JOBS
from orchestrator.workflow.runner import hindrance, tick
from tests.support.cutting_jobs import make_job
from tests.support.cutting_rules import SHIPPED
from tests.support.dashboard import problems, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("floor", "customer")]
HERE = socket.gethostname()


def with_retries(number: int) -> bytes:
    return json.dumps({**SHIPPED, "retry_count_max": number}).encode()


def save(file: Path, content: bytes) -> None:
    with acting_as("owner"):
        save_rules(content, based_on=digest(file.read_bytes()), reason="new")


@pytest.fixture
def another_machine(rules_file: Path, settings: Any) -> Path:
    """Save rules on one machine, and go on as another, which has a file of its own."""
    save(rules_file, with_retries(2))
    settings.OPTI_RULES = rules_file.with_name("of-another-machine.json")
    settings.OPTI_RULES.write_bytes(with_retries(1))
    return Path(settings.OPTI_RULES)


def worked(job: Job) -> str:
    tick(patient=True, stopping=Job.objects.exclude(status="NEW").exists)
    job.refresh_from_db()
    return job.status


def test_a_machine_with_other_rules_takes_no_job_until_it_has_those_saved_last(another_machine) -> None:
    job = make_job()
    assert worked(job) == "NEW"

    another_machine.write_bytes(with_retries(2))

    assert worked(job) != "NEW"


def test_before_rules_are_saved_a_machine_works_by_its_file(rules_file) -> None:
    rules_file.write_bytes(with_retries(1))

    assert worked(make_job()) != "NEW"


def test_a_change_by_hand_is_in_force_once_it_is_saved(rules_file) -> None:
    save(rules_file, with_retries(2))
    rules_file.write_bytes(with_retries(1))
    job = make_job()
    assert worked(job) == "NEW"

    save(rules_file, rules_file.read_bytes())

    assert worked(job) != "NEW"
    assert [version.sha256 for version in RulesVersion.objects.order_by("-pk")][:1] == [digest(with_retries(1))]
    with pytest.raises(RulesUnchanged):
        save(rules_file, rules_file.read_bytes())


@pytest.mark.usefixtures("another_machine")
def test_a_web_server_with_other_rules_estimates_nothing() -> None:
    with pytest.raises(JobError, match="are not those that were saved last"):
        estimate(order_from(make_job().payload), current_rules())


@pytest.fixture
def _a_runner_elsewhere(rules_file: Path) -> None:
    """Let a runner on another machine with other rules give its sign of life; this machine has the right ones."""
    save(rules_file, with_retries(2))
    reason = stored(sentences.OTHER_RULES % {"path": "r", "machine": "opti-pc"})
    Runner.objects.create(name="opti-pc:7:abc", queue=JOBS.queue, pid=7, hindrance=reason)


@pytest.mark.usefixtures("_a_runner_elsewhere")
def test_a_runner_with_other_rules_is_named_on_the_dashboard_on_workers_and_on_its_jobs(admin_client) -> None:
    job = make_job()

    (problem,) = problems("other-rules")
    sentence = "The rules in r on opti-pc are not those that were saved last, so nothing is planned by them."

    assert (problem.title, problem.cause) == ("opti-pc takes no cutting jobs", sentence)
    assert sentence in text_of(admin_client, "/admin/workers/")
    assert sentence in [blocker.sentence for blocker in reasons(job, [])]
    Runner.objects.create(name="here:8:abc", queue=JOBS.queue, pid=8)
    assert sentence not in [blocker.sentence for blocker in reasons(job, [])], "another one takes it"


@pytest.mark.usefixtures("another_machine")
def test_this_machine_is_a_problem_too_and_its_page_of_rules_says_so(admin_client) -> None:
    (problem,) = problems("other-rules")

    assert problem.title == f"{HERE} takes no cutting jobs"
    assert "This machine plans nothing until" in text_of(admin_client, "/admin/orchestrator/rulesversion/")


@pytest.mark.usefixtures("another_machine")
def test_a_runner_says_with_its_sign_of_life_why_it_takes_no_jobs() -> None:
    with present(JOBS.queue, hindrance=hindrance) as sign:
        sign()

        assert Runner.objects.get().hindrance.startswith("OTHER_RULES{")
