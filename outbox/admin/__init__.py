"""The outbox in the console."""

from outbox.admin.channels import ChannelAdmin
from outbox.admin.endpoints import EndpointAdmin
from outbox.admin.messages import OutboxMessageAdmin

__all__ = ["ChannelAdmin", "EndpointAdmin", "OutboxMessageAdmin"]
