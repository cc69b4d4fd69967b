"""The system checks and metrics of config, and what is made of all apps' declarations: config is the last app."""

from config import checks
from config.web.address_kinds import kinds
from kilit.problems.queues import register_other_queues
from kilit.web.metrics import BuildCollector, WebCollector
from kilit.workers.management.sweep_command import add_commands
from kilit.workers.metrics import registry

registry.register(BuildCollector())
registry.register(WebCollector(kinds()))
add_commands()
register_other_queues()
