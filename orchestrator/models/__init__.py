from orchestrator.models.customer import Customer
from orchestrator.models.job import Job, SolutionFile
from orchestrator.models.order_draft import OrderDraft, OrderFile
from orchestrator.models.rules_version import RulesVersion

__all__ = ["Customer", "Job", "OrderDraft", "OrderFile", "RulesVersion", "SolutionFile"]
