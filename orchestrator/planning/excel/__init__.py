"""Writes the XLSX files that OptiPlanning imports."""

from orchestrator.planning.excel.template import check_template
from orchestrator.planning.excel.writing import Sheet, contents_of, sheets_of, write_files

__all__ = ["Sheet", "check_template", "contents_of", "sheets_of", "write_files"]
