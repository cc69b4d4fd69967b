"""Times in a site's zone, as `yyyy-mm-dd HH:mm:ss+HH:mm`, with the offset that held at that time."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

UTC = "+00"  # as PostgreSQL writes it
LAST_OF_HOUR = timedelta(minutes=59, seconds=59)


class LocalTimes:
    """Formats the times of one answer.

    A text of PostgreSQL is not parsed: in the hours of most zones only the date, the hour and the offset differ, and
    these are looked up once for each hour. For a thousand rows that takes a tenth of the time of a thousand datetimes.
    """

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._hours: dict[str, tuple[str, str] | None] = {}

    def format(self, time: datetime) -> str:
        return time.astimezone(self._zone).isoformat(sep=" ", timespec="seconds")

    def format_text(self, time: str) -> str:
        if time.endswith(UTC):
            hour = time[:13]  # yyyy-mm-dd HH
            if hour not in self._hours:
                self._hours[hour] = self._local_hour(hour)
            if local := self._hours[hour]:
                return local[0] + time[13:19] + local[1]
        return self.format(datetime.fromisoformat(time))

    def _local_hour(self, hour: str) -> tuple[str, str] | None:
        """Return date and hour, and the offset; None where minutes differ, or the offset changes within the hour."""
        utc = datetime.fromisoformat(f"{hour}:00:00+00:00")
        first, last = utc.astimezone(self._zone), (utc + LAST_OF_HOUR).astimezone(self._zone)
        if first.utcoffset() != last.utcoffset() or (first.minute, first.second) != (0, 0):
            return None
        text = self.format(first)
        return text[:13], text[19:]
