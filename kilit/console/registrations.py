"""The free text of saved views."""

from kilit.console.models import SavedView
from kilit.lock.free_text import register_free_text

register_free_text(SavedView, "name", "query")
