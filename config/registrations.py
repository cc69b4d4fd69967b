"""The system checks and metrics of config."""

from config import checks
from config.web.address_kinds import kinds
from kilit.web.metrics import WebCollector
from kilit.workers.metrics import registry

registry.register(WebCollector(kinds()))
