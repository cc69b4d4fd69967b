"""The free text of sites: why they are paused."""

from kilit.lock.free_text import FreeText, register_free_texts
from kilit.sites.models import Tenant

register_free_texts(FreeText(Tenant, ("pause_reason",)))
