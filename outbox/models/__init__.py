from outbox.models.attempt import Attempt
from outbox.models.endpoint import Endpoint
from outbox.models.message import OutboxMessage
from outbox.models.position import LogPosition

__all__ = ["Attempt", "Endpoint", "LogPosition", "OutboxMessage"]
