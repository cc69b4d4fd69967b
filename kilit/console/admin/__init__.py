"""Pages of what all queues share; the admin finds them here."""

from kilit.console.account import people
from kilit.console.admin import activity, audits, bulk_actions, keys, problems

__all__ = ["activity", "audits", "bulk_actions", "keys", "people", "problems"]
