"""The free text of saved views."""

from kilit.console.models import SavedView
from kilit.lock.free_text import FreeText, register_free_texts

register_free_texts(FreeText(SavedView, ("name", "query")))
