"""Times as spreadsheets and Google's templates write them."""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Self
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from kilit.csv.text import CsvError, TableHeader

DATE = r"(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})"
CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(:(?P<second>[0-9]{2}))?"
PARTS = ("year", "month", "day", "hour", "minute", "second")
DOTTED = re.compile(rf"{DATE}[ T]+{CLOCK}")
SLASHED = re.compile(r"[0-9]{1,4}/[0-9]{1,2}/[0-9]{1,4}\b.*")
GOOGLE_TIMES = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p", "%b %d,%Y %I:%M:%S %p")
WITH_ZONE = re.compile(r"(?P<time>.*[0-9APMapm]) ?(?P<zone>[A-Z][A-Za-z_]+(/[A-Za-z_+0-9-]+)+|[+-][0-9]{2}:?[0-9]{2})")
GOOGLE_HEADING = "conversion time"
GOOGLE_ZONE = re.compile(r"TimeZone=(?P<zone>[^;,\s]+)", re.IGNORECASE)


@dataclass(frozen=True)
class TimeFormat:
    """How a file writes times: those without a zone are of this one."""

    zone: tzinfo
    is_google: bool = False  # Google's templates write the month first

    @classmethod
    def of_file(cls, header: TableHeader, zone: tzinfo) -> Self:
        """Return them for a file; Google's templates may name a zone above the header."""
        is_google = bool(header.parameters) or GOOGLE_HEADING in map(str.lower, header.cells)
        if match := GOOGLE_ZONE.search(header.parameters):
            named = read_zone(match["zone"])
            if named is None:
                message = _("The file's time zone “%(zone)s” is not known; write +0300 or Europe/Istanbul.")
                raise CsvError(message % {"zone": match["zone"][:60]})
            zone = named
        return cls(zone, is_google=is_google)

    def read(self, text: str) -> str:
        """Return a time in ISO 8601 with its offset; what is no time stays, and is rejected later."""
        zone = self.zone
        match = WITH_ZONE.fullmatch(text) if self.is_google else None
        if match and (named := read_zone(match["zone"])):
            text, zone = match["time"], named
        time = self._parse(text)
        return text if time is None or time.tzinfo else in_zone(time, zone).isoformat()

    def _parse(self, text: str) -> datetime | None:
        if dotted := DOTTED.fullmatch(text):
            with suppress(ValueError):
                return datetime(*(int(dotted[name] or 0) for name in PARTS))  # type: ignore[arg-type]  # noqa: DTZ001
            return None
        if self.is_google:
            for form in GOOGLE_TIMES:
                with suppress(ValueError):
                    return datetime.strptime(text, form)  # noqa: DTZ007
        elif SLASHED.fullmatch(text):
            raise ValueError(_("03/04/2026 could be in March or in April; write 2026-04-03 13:45 or 03.04.2026 13:45."))
        if ":" in text:  # a day alone is not a time
            with suppress(ValueError):
                return datetime.fromisoformat(text)
        return None


def in_zone(time: datetime, zone: tzinfo) -> datetime:
    """Return a local time in its zone; ValueError if there are two such moments, or none."""
    earlier, later = (time.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if earlier.utcoffset() != later.utcoffset():
        raise ValueError(_("The clocks change at this time, so it is not certain; write the offset, such as +03:00."))
    return earlier


def read_zone(text: str) -> tzinfo | None:
    with suppress(ValueError):
        return datetime.strptime(text, "%z").tzinfo
    with suppress(KeyError, ValueError, OSError):
        return ZoneInfo(text)
    return None
