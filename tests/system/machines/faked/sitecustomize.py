"""Python starts with this under libfaketime, which answers EINVAL to the absolute end by which Python sleeps."""

import select
import time


def sleep(seconds: float) -> None:
    """Sleep by a relative time."""
    select.select((), (), (), seconds)


time.sleep = sleep
