"""Keeps the sheet of an imported order with its job."""

import hashlib

from orchestrator.models import Job, OrderFile
from orchestrator.schemas.orders import UNSAFE_CHARS

LONGEST_NAME = 255


def store_order_file(job: Job, name: str, content: bytes, *, layout: str) -> None:
    """Store a sheet with its job; the same content is stored once. Call it in the transaction of `enqueue`."""
    name = UNSAFE_CHARS.sub("_", name)[-LONGEST_NAME:]
    file = OrderFile(job=job, name=name, sha256=hashlib.sha256(content).hexdigest(), content=content, layout=layout)
    OrderFile.objects.bulk_create([file], ignore_conflicts=True)
