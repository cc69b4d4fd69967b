"""Sites and their members, conversions, upload batches, circuits and credentials."""

from ociqueue.models.batch import UploadBatch
from ociqueue.models.circuit import Circuit
from ociqueue.models.conversion import Conversion
from ociqueue.models.credentials import Credentials
from ociqueue.models.site import Site, SiteMembership

__all__ = ["Circuit", "Conversion", "Credentials", "Site", "SiteMembership", "UploadBatch"]
