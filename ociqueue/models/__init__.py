"""Sites, who may see them, and their conversions."""

from ociqueue.models.conversion import Conversion
from ociqueue.models.site import Site, SiteMembership

__all__ = ["Conversion", "Site", "SiteMembership"]
