"""A day as bars: what ended well stands on the line, what ended badly hangs below it; drawn by the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kilit.lock.models.counts import Hour

HEIGHT = 100
STEP = 10  # of one hour
BAR = 8
LEAST = 1.5  # a single row among thousands is seen too


@dataclass(frozen=True)
class Bar:
    """One hour: its numbers, and where its two bars are."""

    hour: Hour
    x: int
    well_y: float
    well_height: float
    badly_height: float


@dataclass(frozen=True)
class Chart:
    """The last 24 hours of a queue."""

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
        """The share of failures among what ended, or nothing when nothing ended."""
        ended = self.well + self.badly
        return self.badly / ended if ended else None

    @property
    def busiest(self) -> int:
        """The most that ended in one hour: the height of the chart."""
        return max(hour.well + hour.badly for hour in self.hours)

    @property
    def width(self) -> int:
        return STEP * len(self.hours)

    @property
    def line(self) -> float:
        """How far down the line is: both directions have the same scale."""
        return HEIGHT - self._height(max(hour.badly for hour in self.hours))

    def bars(self) -> list[Bar]:
        line = self.line
        return [
            Bar(hour, index * STEP + 1, max(0, line - well), well, self._height(hour.badly))
            for index, hour in enumerate(self.hours)
            for well in [self._height(hour.well)]
        ]

    def _height(self, number: int) -> float:
        tallest = max(hour.well for hour in self.hours) + max(hour.badly for hour in self.hours)
        return max(LEAST, round(HEIGHT * number / tallest, 2)) if number else 0
