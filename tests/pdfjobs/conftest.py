"""Fixtures of the PDF queue's tests."""

from tests.support.crowded_pdf_jobs import crowded
from tests.support.fixtures.pdf_jobs import _own_store, api, artifact_folder, make_job, make_person, worker_lives

__all__ = ["_own_store", "api", "artifact_folder", "crowded", "make_job", "make_person", "worker_lives"]
