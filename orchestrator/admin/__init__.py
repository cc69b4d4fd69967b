"""Panel cutting in the console: jobs, customers, rules, preflight."""

from kilit.console.dashboard import panels
from orchestrator.admin.customers import CustomerAdmin
from orchestrator.admin.drafts import OrderDraftAdmin
from orchestrator.admin.jobs import JobAdmin
from orchestrator.admin.panel import CuttingPanel
from orchestrator.admin.rules import RulesVersionAdmin

__all__ = ["CustomerAdmin", "CuttingPanel", "JobAdmin", "OrderDraftAdmin", "RulesVersionAdmin"]

panels.register_panel(CuttingPanel())
