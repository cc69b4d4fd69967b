"""What the receiver does with a message, by path: a status, after a delay, for some messages or all of them."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Behaviour:
    """How messages are answered. A `rate` below 1 lets the others through, with 200."""

    status: int = 200
    rate: float = 1.0
    delay: float = 0.0  # seconds
    retry_after: str = ""
    location: str = ""
    body: str = ""
    closes: bool = False  # without an answer

    @classmethod
    def read(cls, values: dict[str, object]) -> "Behaviour":
        return cls(**{name: type(getattr(cls, name))(value) for name, value in values.items()})

    def applies(self) -> bool:
        return self.rate >= 1 or random.random() < self.rate  # noqa: S311 - not for security

    @property
    def headers(self) -> dict[str, str]:
        found = {"Retry-After": self.retry_after, "Location": self.location}
        return {name: value for name, value in found.items() if value}


GOOD = Behaviour()
