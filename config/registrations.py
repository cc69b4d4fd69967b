"""The system checks and metrics of config."""

from config import checks
from config.web.address_kinds import KINDS
from kilit.web.metrics import WebCollector
from kilit.workers.metrics import registry

registry.register(WebCollector(KINDS))
