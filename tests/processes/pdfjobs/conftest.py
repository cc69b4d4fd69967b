"""PDF jobs, owners and a file store for each test."""

from tests.support.fixtures.pdf_jobs import _own_store, api, artifact_folder, make_job, make_person, worker_lives

__all__ = ["_own_store", "api", "artifact_folder", "make_job", "make_person", "worker_lives"]
