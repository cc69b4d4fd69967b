"""Panel cutting in the console: jobs, customers, preflight."""

from kilit.console import panels
from orchestrator.admin.customers import CustomerAdmin
from orchestrator.admin.jobs import JobAdmin
from orchestrator.admin.panel import CuttingPanel

__all__ = ["CustomerAdmin", "CuttingPanel", "JobAdmin"]

panels.register_panel(CuttingPanel())
