"""The next weeks by day: how many orders are due, with how many hours of cutting, and which are late."""

from collections.abc import Container
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, FloatField, Q, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from orchestrator.due import open_jobs

WEEKS = 3
HOUR = 3600


@dataclass(frozen=True)
class CalendarDay:
    day: date
    today: date
    orders: int
    seconds: float
    is_listed: bool  # below, to link to

    @property
    def is_late(self) -> bool:
        return bool(self.orders) and self.day < self.today

    @property
    def is_today(self) -> bool:
        return self.day == self.today

    @property
    def hours(self) -> str:
        return _("%(number)s h") % {"number": number_format(self.seconds / HOUR, 1)} if self.seconds else ""


def weeks(listed: Container[date], *, today: date) -> list[list[CalendarDay]]:
    """Return this week and the next ones, each from Monday to Sunday; nothing if no order is due in them."""
    monday = today - timedelta(days=today.weekday())
    days = [monday + timedelta(days=number) for number in range(7 * WEEKS)]
    seconds = Sum(Cast(KeyTextTransform("time_s", "solution"), FloatField()), filter=~Q(xml_sha256=""))
    rows: Any = open_jobs().order_by().filter(due_on__range=(days[0], days[-1])).values_list("due_on")
    rows = rows.annotate(orders=Count("pk"), cutting_seconds=seconds)
    numbers = {day: (orders, planned or 0) for day, orders, planned in rows}
    calendar = [CalendarDay(day, today, *numbers.get(day, (0, 0)), is_listed=day in listed) for day in days]
    return [calendar[first : first + 7] for first in range(0, len(days), 7)] if numbers else []
