"""The conversion queue in the console: sites and their senders, conversions with their actions, and uploads."""

from ociqueue.admin import labels  # noqa: F401
from ociqueue.admin.batches import UploadBatchAdmin
from ociqueue.admin.conversions import ConversionAdmin
from ociqueue.admin.panel import ConversionPanel
from ociqueue.admin.sites import SiteAdmin

__all__ = ["ConversionAdmin", "ConversionPanel", "SiteAdmin", "UploadBatchAdmin"]
