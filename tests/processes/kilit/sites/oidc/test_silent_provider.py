"""The web server of the Procfile with a login provider that accepts connections and never answers."""

import pytest

from tests.support.commands import run_python
from tests.support.waiting import PATIENCE


@pytest.mark.nightly  # tests/kilit/sites/oidc/test_silent_provider.py has the same in one process
def test_a_silent_login_provider_does_not_stop_the_web() -> None:
    trial = run_python("-m", "tests.security.oidc_trial", timeout=4 * PATIENCE)

    assert trial.returncode == 0, trial.stdout + trial.stderr
    assert "24 visitors got [502, 503]" in trial.stdout
