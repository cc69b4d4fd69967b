"""The template of our own layout, as XLSX and CSV (as Excel in Turkey writes it): an example of parts to replace.

The fields of the order are empty: an example that somebody leaves in would decide over an order.
"""

from pathlib import Path

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def template_xlsx() -> bytes:
    return Path(__file__).with_suffix(".xlsx").read_bytes()


def template_csv() -> bytes:
    return Path(__file__).with_suffix(".csv").read_bytes()
