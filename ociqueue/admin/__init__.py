"""The conversion queue in the console: sites, conversions, adjustments and uploads."""

from ociqueue.admin.erasures import ErasureAdmin
from ociqueue.admin.imports.import_jobs import ImportJobAdmin
from ociqueue.admin.rows.adjustments import AdjustmentAdmin
from ociqueue.admin.rows.batches import UploadBatchAdmin
from ociqueue.admin.rows.conversions import ConversionAdmin
from ociqueue.admin.sites.site_list import SiteAdmin

__all__ = ["AdjustmentAdmin", "ConversionAdmin", "ErasureAdmin", "ImportJobAdmin", "SiteAdmin", "UploadBatchAdmin"]
