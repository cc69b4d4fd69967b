"""Panel cutting in the console: jobs, customers, rules, preflight."""

from orchestrator.admin.customers import CustomerAdmin
from orchestrator.admin.drafts import OrderDraftAdmin
from orchestrator.admin.jobs import JobAdmin
from orchestrator.admin.offcuts import StockItemAdmin
from orchestrator.admin.rules import RulesVersionAdmin
from orchestrator.admin.stock import BoardKindAdmin

__all__ = ["BoardKindAdmin", "CustomerAdmin", "JobAdmin", "OrderDraftAdmin", "RulesVersionAdmin", "StockItemAdmin"]
