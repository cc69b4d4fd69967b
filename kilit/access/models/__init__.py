"""API keys, rate limits, denied requests and changes of settings."""

from kilit.access.models.api_key import ApiKey, RateWindow
from kilit.access.models.denied_request import DenialCode, DeniedRequest
from kilit.access.models.logged_change import LoggedChange
from kilit.access.models.login_window import LoginWindow

__all__ = ["ApiKey", "DenialCode", "DeniedRequest", "LoggedChange", "LoginWindow", "RateWindow"]
