"""A day, a week or a month as bars, drawn by the server: successes above the line, failures below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote

from django.utils import timezone
from django.utils.formats import date_format

from kilit.lock.models.counts import Period, failure_rate

RANGES = (1, 7, 30)  # days
HEIGHT = 100
STEP = 10  # of one bar
LEAST = 1.5  # a single row among thousands stays visible


class Bar(NamedTuple):
    period: Period
    label: str
    x: int
    well_y: float
    well_height: float
    badly_height: float
    well_href: str
    badly_href: str


@dataclass(frozen=True)
class Chart:
    periods: Sequence[Period]
    days: int
    lists: tuple[str, str]  # the addresses of the successes and the failures, with a query

    @cached_property
    def totals(self) -> dict[str, int]:
        names = ("well", "badly", "expected")
        return {name: sum(getattr(period, name) for period in self.periods) for name in names}

    @property
    def error_rate(self) -> float | None:
        """The share of failures in what ended, without expected ones; None if nothing is left."""
        return failure_rate(**self.totals)

    @property
    def width(self) -> int:
        return STEP * len(self.periods)

    @cached_property
    def most(self) -> int:
        """The number at the top of the axis."""
        return max(period.well for period in self.periods)

    @property
    def marks(self) -> list[str]:
        """The labels of the time axis: its beginning, middle and end."""
        return [self._label(self.periods[index]) for index in (0, len(self.periods) // 2, -1)]

    @cached_property
    def line(self) -> float:
        """The y of the line; both directions have the same scale."""
        return HEIGHT - self._height(max(period.badly for period in self.periods))

    @cached_property
    def bars(self) -> list[Bar]:
        return [self._bar(index, period) for index, period in enumerate(self.periods)]

    def _bar(self, index: int, period: Period) -> Bar:
        well, badly = self._height(period.well), self._height(period.badly)
        x, y = index * STEP + 1, max(0, self.line - well)
        return Bar(period, self._label(period), x, y, well, badly, *self._lists(period))

    @cached_property
    def _tallest(self) -> int:
        return self.most + max(period.badly for period in self.periods)

    def _height(self, number: int) -> float:
        return max(LEAST, round(HEIGHT * number / self._tallest, 2)) if number else 0

    def _label(self, period: Period) -> str:
        begins = timezone.localtime(period.began_at)
        return date_format(begins, "H:i") if self.days == 1 else date_format(begins, "MONTH_DAY_FORMAT")

    def _lists(self, period: Period) -> tuple[str, str]:
        begins = timezone.localtime(period.began_at)
        created = quote(begins.strftime("%Y-%m-%dT%H:%M" if self.days == 1 else "%Y-%m-%d"))
        well, badly = (f"{address}&from={created}&to={created}" for address in self.lists)
        return well, badly


def midnights(days: int, now: datetime) -> list[datetime]:
    """Return when the last days began, in the reader's time zone; the last is today."""
    today = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return [today - timedelta(days=ago) for ago in range(days - 1, -1, -1)]
