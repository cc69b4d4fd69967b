"""Refusals that the API answers in the one shape all queues share."""

from typing import Any

from rest_framework.exceptions import APIException


class Refusal(APIException):
    """A refusal with a code that machines read, a sentence for people, and facts."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.status_code, self.code, self.facts = status, code, facts
        if retry_after is not None:
            self.wait = retry_after  # DRF makes the Retry-After header of it
