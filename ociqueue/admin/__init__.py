"""The conversion queue in the console: sites, conversions and uploads."""

from kilit.console import panels
from kilit.console.key_owners import register_owner_names
from ociqueue.admin.batches import UploadBatchAdmin
from ociqueue.admin.conversions import ConversionAdmin
from ociqueue.admin.dashboard import ConversionPanel
from ociqueue.admin.erasures import ErasureAdmin
from ociqueue.admin.keys import key_owners, owners_of_sites
from ociqueue.admin.sites import SiteAdmin

panels.register_panel(ConversionPanel())
register_owner_names(key_owners, owners_of_sites)

__all__ = ["ConversionAdmin", "ErasureAdmin", "SiteAdmin", "UploadBatchAdmin"]
