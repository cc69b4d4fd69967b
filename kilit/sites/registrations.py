"""The free text of sites: why they are paused."""

from kilit.lock.free_text import register_free_text
from kilit.sites.models import Tenant

register_free_text(Tenant, "pause_reason")
