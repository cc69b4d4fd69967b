from orchestrator.models.customer import Customer
from orchestrator.models.job import Job
from orchestrator.models.solution import SolutionFile

__all__ = ["Customer", "Job", "SolutionFile"]
