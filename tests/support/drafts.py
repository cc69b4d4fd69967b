"""Drafts of orders, as they are typed in the console."""

import hashlib
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kilit.csv.grid import text_from_rows
from kilit.lock.identity import uuid7
from orchestrator.drafts.sending import save_draft
from orchestrator.drafts.typed import COLUMNS
from orchestrator.models import OrderDraft

LIST = "/admin/orchestrator/orderdraft/"
NEW, IMPORT, TEMPLATE = f"{LIST}new/", f"{LIST}import/", f"{LIST}template/"
ROW = {
    "material_code": "MAT-01",
    "color": "Beyaz",
    "thickness_mm": "18",
    "part_type": "Gövde",
    "length": "1205",
    "width": "400",
    "quantity": "2",
    "grain": "1",
    "edge_up": "1mm",
    "edge_sx": "040",
}
UPLOAD = {
    "file_name": "S-1001.xlsx",
    "file_sha256": hashlib.sha256(b"PK sheet").hexdigest(),
    "file_content": b"PK sheet",
    "layout": "list",
    "cells": {"p1.length": "B7"},
}


def page_of(pk: object) -> str:
    return f"{LIST}{pk}/change/"


def typed(*rows: dict[str, str], unit: str = "mm", **fields: str) -> dict[str, Any]:
    """Return what was typed: one part unless rows are given."""
    known = {"order_id": "S-1001", "customer_phone": "0555 123 45 67", **fields}
    return {"unit": unit, "fields": known, "rows": [dict(row) for row in rows or [ROW]]}


def posted(*rows: dict[str, str], action: str, draft: OrderDraft | None = None, **fields: str) -> dict[str, str]:
    """Return a form as the browser sends it."""
    content = typed(*rows, **fields)
    text = text_from_rows(content["rows"], COLUMNS)
    based_on = draft.updated_at.isoformat() if draft else ""
    return {**content["fields"], "unit": content["unit"], "rows": text, "based_on": based_on, action: "1"}


def make_draft(
    *rows: dict[str, str], pk: UUID | None = None, upload: Mapping[str, Any] | None = None, **fields: Any
) -> OrderDraft:
    return save_draft(pk or uuid7(), typed(*rows, **fields), based_on=None, upload=upload)[0]
