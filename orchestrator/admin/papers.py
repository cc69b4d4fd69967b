"""What can be printed from a job. Documents are another queue's, so the installation registers them."""

from collections.abc import Callable

from django.http import HttpRequest

from kilit.console.jobs.job_page import JobOffer
from orchestrator.models import Job

FindPapers = Callable[[HttpRequest, Job], list[JobOffer]]
_registered: list[FindPapers] = []


def register_papers(find: FindPapers) -> None:
    _registered.append(find)


def papers_of(request: HttpRequest, job: Job) -> list[JobOffer]:
    return [offer for find in _registered for offer in find(request, job)]
