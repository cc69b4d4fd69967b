"""The outbox in the console."""

from kilit.console.dashboard import panels
from outbox.admin.channels import ChannelAdmin
from outbox.admin.endpoints import EndpointAdmin
from outbox.admin.messages import OutboxMessageAdmin
from outbox.admin.panel import OutboxPanel

panels.register_panel(OutboxPanel())

__all__ = ["ChannelAdmin", "EndpointAdmin", "OutboxMessageAdmin", "OutboxPanel"]
