"""Sites and their members, conversions, upload batches, receipts, circuits and credentials."""

from ociqueue.models.batch import UploadBatch
from ociqueue.models.circuit import Circuit
from ociqueue.models.conversion import Conversion
from ociqueue.models.credentials import Credentials
from ociqueue.models.receipt import Receipt
from ociqueue.models.site import Site, SiteMembership

__all__ = ["Circuit", "Conversion", "Credentials", "Receipt", "Site", "SiteMembership", "UploadBatch"]
