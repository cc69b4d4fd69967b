"""Writes the XLSX files that OptiPlanning imports."""

from orchestrator.planning.excel.template import check_template
from orchestrator.planning.excel.writing import render_sheets, write_files

__all__ = ["check_template", "render_sheets", "write_files"]
