"""The outbox in the console."""

from outbox.admin.channels import ChannelAdmin

__all__ = ["ChannelAdmin"]
