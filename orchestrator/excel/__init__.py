"""Writes the XLSX files that OptiPlanning imports (ORC-13 to ORC-15)."""

from orchestrator.excel.template import check_template
from orchestrator.excel.writing import SheetFile, contents_of, sheets_of, write_files

__all__ = ["SheetFile", "check_template", "contents_of", "sheets_of", "write_files"]
