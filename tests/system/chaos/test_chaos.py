"""A short storm over real processes of all three queues: every promise holds, and without a guard one does not."""

import subprocess
import sys

import pytest

from tests.support.commands import ROOT, fresh_environment

pytestmark = pytest.mark.nightly  # test_invariants.py shows by day that each breach is found

# On a quiet machine the first takes less than a minute; the limit is for one that is busy with other tests.
SHORT = ["--seconds", "8", "--limit", "900"]


def chaos(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a seed to its end, in a folder and with a PostgreSQL of its own."""
    command = [sys.executable, "-m", "tests.system.chaos", *SHORT, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=fresh_environment(), capture_output=True, text=True, timeout=960, check=False
    )


def test_a_storm_breaks_no_promise() -> None:
    ended = chaos("--seed", "7")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "All invariants kept." in ended.stdout


@pytest.mark.parametrize("guard", ["claim"])
def test_without_a_guard_the_run_fails(guard) -> None:
    """Claims that read, judge and then write hand the same row to two scripts; the run ends as soon as it sees that."""
    ended = chaos("--seed", "7", "--without", guard)

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "was claimed while it was held" in ended.stdout
