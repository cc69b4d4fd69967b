"""The conversion queue in the console: sites, their scripts and keys, and conversions with their actions."""

from ociqueue.admin.conversions import ConversionAdmin
from ociqueue.admin.sites import SiteAdmin

__all__ = ["ConversionAdmin", "SiteAdmin"]
