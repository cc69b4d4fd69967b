"""Sites, who may see them, their conversions, and how those are uploaded."""

from ociqueue.models.batch import UploadBatch
from ociqueue.models.circuit import Circuit
from ociqueue.models.conversion import Conversion
from ociqueue.models.credentials import Credentials
from ociqueue.models.site import Site, SiteMembership

__all__ = ["Circuit", "Conversion", "Credentials", "Site", "SiteMembership", "UploadBatch"]
