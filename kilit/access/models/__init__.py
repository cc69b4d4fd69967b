"""API keys, rate limits, denied requests and changes of settings."""

from kilit.access.models.api_key import ApiKey, RateWindow
from kilit.access.models.denied_request import DenialCode, DeniedRequest
from kilit.access.models.logged_change import LoggedChange

__all__ = ["ApiKey", "DenialCode", "DeniedRequest", "LoggedChange", "RateWindow"]
