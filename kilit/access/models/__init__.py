"""API keys, rate limits and denied requests."""

from kilit.access.models.api_key import ApiKey, RateWindow
from kilit.access.models.denied_request import DenialCode, DeniedRequest

__all__ = ["ApiKey", "DenialCode", "DeniedRequest", "RateWindow"]
