"""The conversion queue in the console: sites, conversions, adjustments and uploads."""

from kilit.console.dashboard import panels
from ociqueue.admin.dashboard import ConversionPanel
from ociqueue.admin.erasures import ErasureAdmin
from ociqueue.admin.imports.import_jobs import ImportJobAdmin
from ociqueue.admin.rows.adjustments import AdjustmentAdmin
from ociqueue.admin.rows.batches import UploadBatchAdmin
from ociqueue.admin.rows.conversions import ConversionAdmin
from ociqueue.admin.sites.site_list import SiteAdmin

panels.register_panel(ConversionPanel())

__all__ = ["AdjustmentAdmin", "ConversionAdmin", "ErasureAdmin", "ImportJobAdmin", "SiteAdmin", "UploadBatchAdmin"]
