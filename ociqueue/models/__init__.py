"""Sites, conversions, adjustments, uploads and receipts, circuits, credentials, quotas, counts, erasures, imports."""

from ociqueue.models.adjustment import Adjustment
from ociqueue.models.batch import Receipt, UploadBatch
from ociqueue.models.circuit import Circuit
from ociqueue.models.conversion import Conversion
from ociqueue.models.credentials import Credentials
from ociqueue.models.erasure import Erasure, IdentifierKind
from ociqueue.models.import_job import ImportChunk, ImportJob, ImportKey, ImportLine
from ociqueue.models.key import ConversionKey
from ociqueue.models.quota import RequestQuota
from ociqueue.models.readback import ReadBack, UploadSummary
from ociqueue.models.site import Site

__all__ = [
    "Adjustment",
    "Circuit",
    "Conversion",
    "ConversionKey",
    "Credentials",
    "Erasure",
    "IdentifierKind",
    "ImportChunk",
    "ImportJob",
    "ImportKey",
    "ImportLine",
    "ReadBack",
    "Receipt",
    "RequestQuota",
    "Site",
    "UploadBatch",
    "UploadSummary",
]
