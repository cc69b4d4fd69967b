"""API keys, rate limits and denied requests."""

from kilit.access.models.api_key import ApiKey
from kilit.access.models.denied_request import DenialCode, DeniedRequest
from kilit.access.models.rate_window import RateWindow

__all__ = ["ApiKey", "DenialCode", "DeniedRequest", "RateWindow"]
