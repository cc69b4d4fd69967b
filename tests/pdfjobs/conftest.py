"""Fixtures of the PDF queue's tests."""

from tests.support.fixtures.pdf_jobs import _own_store, api, artifact_folder, make_job, worker_lives

__all__ = ["_own_store", "api", "artifact_folder", "make_job", "worker_lives"]
