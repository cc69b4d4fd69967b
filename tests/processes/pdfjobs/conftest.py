"""PDF jobs, owners and a file store for each test."""

from collections.abc import Iterator

import pytest

from tests.apps.patient.limits import be_patient
from tests.support.fixtures.pdf_jobs import _own_store, api, artifact_folder, make_job, worker_lives
from tests.support.listener import Listener

__all__ = ["_own_store", "api", "artifact_folder", "make_job", "worker_lives"]


@pytest.fixture(scope="session", autouse=True)
def _patient() -> None:
    """Let browsers take longer to start than the product allows: other tests keep the machine busy."""
    be_patient()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()
