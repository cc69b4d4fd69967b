"""What web, workers and browsers hold in memory: idle, under load, and after many documents."""

import threading
from contextlib import suppress

import psutil

from tests.tools.benchmarks import pdf
from tests.tools.benchmarks.harness import Figure, scope
from tests.tools.benchmarks.servers import resident_megabytes

SETTLED = 120  # documents after which every process, font and template is there
MANY = 240
MANY_IN_FULL = 2_000
PIECE = 60

settled = 0.0


def after_many() -> float:
    """Return the megabytes of all processes after many documents."""
    global settled
    idle = held()
    _make(SETTLED)
    settled = sum(held().values())
    most = _make(MANY_IN_FULL if scope.full else MANY)
    end = held()
    for name, words in (("idle, before the first document", idle), ("under load, the most", most), ("after", end)):
        scope.note(f"`memory`, {name}: {', '.join(f'{kind} {size:.0f} MB' for kind, size in words.items())}.")
    return sum(end.values())


def after_some() -> float:
    """Return what it was when everything was there."""
    return settled


def held() -> dict[str, float]:
    """Return the megabytes of each kind of process; what they share counts once."""
    tree = [pdf.stage.workers, *pdf.stage.workers.children(recursive=True)]
    browsers = sum(_own(process) for process in tree if _is_browser(process))
    workers = sum(_own(process) for process in tree if not _is_browser(process))
    return {"web": resident_megabytes(pdf.stage.server.process), "workers": workers, "browsers": browsers}


def _is_browser(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return "headless" in process.name() or "node" in process.name()
    return False


def _own(process: psutil.Process) -> float:
    with suppress(psutil.Error):  # a page's process ends with the page
        return float(process.memory_full_info().pss) / 1024**2
    return 0.0


def _make(amount: int) -> dict[str, float]:
    """Have documents made; return the most that each kind of process held meanwhile."""
    most = held()
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(1):
            with suppress(psutil.Error):
                most.update({kind: max(size, most[kind]) for kind, size in held().items()})

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(amount // PIECE):
            pdf.made(PIECE)
    finally:
        stop.set()
        watcher.join()
    return most


FIGURES = [
    Figure(
        "memory",
        "MB",
        after_many,
        after_some,
        f"the same after {SETTLED} documents; `make bench-full` makes {MANY_IN_FULL:,}, `make bench` {MANY}",
        at_most=1.15,
        on=pdf.on_stage,
        rounds=1,
        warm=False,
    )
]
