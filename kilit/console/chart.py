"""A day as bars, drawn by the server: successes above the line, failures below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kilit.lock.models.counts import Hour

HEIGHT = 100
STEP = 10  # of one hour
BAR = 8
LEAST = 1.5  # a single row among thousands stays visible


@dataclass(frozen=True)
class HourBar:
    hour: Hour
    x: int
    well_y: float
    well_height: float
    badly_height: float


@dataclass(frozen=True)
class DayChart:
    hours: Sequence[Hour]

    @property
    def began_at(self) -> datetime:
        return self.hours[0].began_at

    @property
    def well(self) -> int:
        return sum(hour.well for hour in self.hours)

    @property
    def badly(self) -> int:
        return sum(hour.badly for hour in self.hours)

    @property
    def error_rate(self) -> float | None:
        """The share of failures in what ended, or None when nothing ended."""
        ended = self.well + self.badly
        return self.badly / ended if ended else None

    @property
    def busiest(self) -> int:
        return max(hour.well + hour.badly for hour in self.hours)

    @property
    def width(self) -> int:
        return STEP * len(self.hours)

    @property
    def line(self) -> float:
        """The y of the line; both directions have the same scale."""
        return HEIGHT - self._height(max(hour.badly for hour in self.hours))

    def bars(self) -> list[HourBar]:
        line = self.line
        return [
            HourBar(hour, index * STEP + 1, max(0, line - well), well, self._height(hour.badly))
            for index, hour in enumerate(self.hours)
            for well in [self._height(hour.well)]
        ]

    def _height(self, number: int) -> float:
        tallest = max(hour.well for hour in self.hours) + max(hour.badly for hour in self.hours)
        return max(LEAST, round(HEIGHT * number / tallest, 2)) if number else 0
