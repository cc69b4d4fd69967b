"""Clocks that are off by an hour, for whole processes, by Debian's libfaketime."""

from pathlib import Path

# Both directions, and those who talk to each other never agree.
CLOCKS = {
    "web": "+1h",
    "worker-1": "-1h",
    "worker-2": "+1h",
    "runner-1": "+1h",
    "runner-2": "-1h",
    "producer": "-1h",
    "script-1": "+1h",
    "script-2": "-1h",
    "operator": "+1h",
    "sweeper": "-1h",
}
MISSING = "libfaketime is missing, so all clocks were right: apt-get install faketime"


def find_library() -> Path | None:
    """Return libfaketime, or nothing."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def clock_of(name: str) -> dict[str, str]:
    """Return the environment of a service whose machine's clock is off."""
    library = find_library()
    if library is None or name not in CLOCKS:
        return {}
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": CLOCKS[name],
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(Path(__file__).parent / "faked"),
        "NO_FAKE_STAT": "1",  # times of files are those of the share
        "FAKETIME_SKIP_CMDS": "headless_shell,chrome,chrome-headless-shell,chromium",
    }
