"""Writes the XLSX files that OptiPlanning imports (ORC-13 to ORC-15)."""

from orchestrator.excel.template import check_template
from orchestrator.excel.writing import SheetFile, write_files

__all__ = ["SheetFile", "check_template", "write_files"]
