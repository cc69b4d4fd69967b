"""A person to forget, and conversions of theirs that have ended."""

from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from ociqueue.models import Adjustment, Conversion, ImportJob, ImportLine, Site, UploadSummary

GCLID = "Cj0KCQiA-7fLBhDKARIsAP8zXk2qErasureErasureErasure_wcB"
EMAIL, PHONE = "Jane.Doe+promo@gmail.com", "+905321234567"


def adjust(row: Conversion, **columns: Any) -> Adjustment:
    given = {"site": row.site, "action": row.action, "order_id": row.order_id, "kind": "RETRACTION", **columns}
    return Adjustment.objects.create(original=row, adjusted_at=row.created_at, **given)


def make_summary(site: Site, text: str) -> None:
    """Store Google's counts of a conversion action, with a text for its name."""
    counts = {"upload_date": "2026-11-15", "action_id": 7, "successful": 1, "failed": 0, "pending": 0}
    UploadSummary.objects.create(site=site, action_name=text[:200], read_at=timezone.now(), **counts)


def make_import(site: Site, text: str) -> None:
    """Store an import with a text, and a rejected line with the click id."""
    file = {"file_name": f"{GCLID}.csv", "size": 1, "kind": "conversions", "error": text}
    job = ImportJob.objects.create(site=site, asked_by=User.objects.get(username="admin"), **file)
    texts = {"cells": {"gclid": GCLID}, "text": GCLID, "faults": [["gclid", "no", GCLID]], "reason": f"line 2: {GCLID}"}
    ImportLine.objects.create(job=job, line=2, is_checked=True, is_differing=False, delimiter=",", **texts)
