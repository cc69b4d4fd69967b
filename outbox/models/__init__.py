from outbox.models.attempt import Attempt
from outbox.models.channel import AlertedProblem, AlertRule, Channel
from outbox.models.endpoint import Endpoint
from outbox.models.message import OutboxMessage
from outbox.models.position import LogPosition

__all__ = ["AlertRule", "AlertedProblem", "Attempt", "Channel", "Endpoint", "LogPosition", "OutboxMessage"]
