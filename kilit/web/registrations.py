"""The metric of the product's version."""

from kilit.web.metrics import BuildCollector
from kilit.workers.metrics import registry

registry.register(BuildCollector())
