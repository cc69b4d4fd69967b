"""The conversion queue in the console: sites, conversions and uploads."""

from kilit.console import panels
from ociqueue.admin.batches import UploadBatchAdmin
from ociqueue.admin.conversions import ConversionAdmin
from ociqueue.admin.dashboard import ConversionPanel
from ociqueue.admin.sites import SiteAdmin

panels.register_panel(ConversionPanel())

__all__ = ["ConversionAdmin", "SiteAdmin", "UploadBatchAdmin"]
