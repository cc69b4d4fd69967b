from orchestrator.models.customer import Customer
from orchestrator.models.job import Job, SolutionFile

__all__ = ["Customer", "Job", "SolutionFile"]
