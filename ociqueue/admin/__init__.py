"""The conversion queue in the console: sites, conversions, adjustments and uploads."""

from kilit.console import panels
from kilit.console.key_owners import register_owner_names
from ociqueue.admin.adjustments import AdjustmentAdmin
from ociqueue.admin.batches import UploadBatchAdmin
from ociqueue.admin.conversions import ConversionAdmin
from ociqueue.admin.dashboard import AdjustmentPanel, ConversionPanel
from ociqueue.admin.erasures import ErasureAdmin
from ociqueue.admin.import_jobs import ImportJobAdmin
from ociqueue.admin.keys import key_owners, owners_of_sites
from ociqueue.admin.sites import SiteAdmin

panels.register_panel(ConversionPanel())
panels.register_panel_problems(AdjustmentPanel())
register_owner_names(key_owners, owners_of_sites)

__all__ = ["AdjustmentAdmin", "ConversionAdmin", "ErasureAdmin", "ImportJobAdmin", "SiteAdmin", "UploadBatchAdmin"]
