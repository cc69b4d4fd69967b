"""Memory at rest: all processes of `manage.py up`, by kind, when it has started and after a document of 1,000 lines."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from kilit.postgres.place import home_of
from pdfjobs.documents import document
from tests.tools.benchmarks.harness import Figure, NotMeasured, scope
from tests.tools.benchmarks.servers import Web, free_port, started

LINES = 1_000
START = 180.0  # seconds, on a busy machine
SETTLE = 60.0  # seconds for what a start causes
BROWSER = 60.0  # seconds after which an idle browser is closed
SMALL = {
    "KILIT_SMALL": "true",
    "KILIT_PRODUCTION": "true",  # without the demo
    "SECRET_KEY": "rest-" * 20,
    "ALLOWED_HOSTS": "localhost,127.0.0.1",
    "KILIT_METRICS_TOKEN": "rest" * 8,
}
# By a part of the command line, the first that it has.
KINDS = {
    "postgres": "PostgreSQL",
    "headless": "Chromium",
    "run-driver": "drivers",
    "gunicorn": "web",
    "simulators": "demo",
    "orchestrator_tick": "runner",
    "runworkers": "workers",
    "qcluster": "workers",
}


class Bench:
    demo: dict[str, float]
    after: dict[str, float]
    small: dict[str, float]


@contextmanager
def measured() -> Iterator[None]:
    with installation(KILIT_PDF_BROWSER_MINUTES=f"{BROWSER / 60:.0f}") as (server, folder):
        time.sleep(SETTLE + BROWSER)
        Bench.demo = megabytes(server.process, folder)
        print_large_document(server, folder)
        time.sleep(SETTLE + BROWSER)
        Bench.after = megabytes(server.process, folder)
    with installation(**SMALL) as (server, folder):
        time.sleep(SETTLE)
        Bench.small = megabytes(server.process, folder)
    for name, kinds in (("demo", Bench.demo), (f"{LINES:,} lines", Bench.after), ("small", Bench.small)):
        scope.note(f"`memory_at_rest`, {name}: {', '.join(f'{kind} {size:.0f} MB' for kind, size in kinds.items())}.")
    yield


@contextmanager
def installation(**variables: str) -> Iterator[tuple[Web, Path]]:
    with TemporaryDirectory() as folder:
        port = free_port()
        own = {"DJANGO_SETTINGS_MODULE": "config.settings.server", "DATABASE_URL": "", "PORT": str(port), **variables}
        with started(["manage.py", "up"], KILIT_VAR=f"{folder}/var", **own) as process:
            server = Web(port, process)
            end = time.monotonic() + START
            while not server.answers():
                if time.monotonic() > end:
                    raise NotMeasured("it did not start")
                time.sleep(1)
            data = home_of(Path(folder, "var", "postgres"))  # as root it may be elsewhere, but only once it is made
            yield server, data
        shutil.rmtree(data, ignore_errors=True)


def print_large_document(server: Web, data: Path) -> None:
    folder = Path(server.process.environ()["KILIT_VAR"])
    caller = server.with_headers(x_api_key=json.loads((folder / "demo.json").read_text())["service"])
    sample = document("invoice").sample
    variables = {**sample, "number": "REST-1", "lines": (sample["lines"] * LINES)[:LINES]}
    job = caller.post("/pdf/jobs", {"template_name": "invoice", "variables": variables})["job_id"]
    end = time.monotonic() + START
    while not isinstance(caller.get(f"/pdf/jobs/{job}/download"), bytes):
        if time.monotonic() > end:
            raise NotMeasured("the document was not made")
        time.sleep(0.5)


def megabytes(up: psutil.Process, data: Path) -> dict[str, float]:
    """Return the memory by kind of process; what they share counts once."""
    kinds: dict[str, float] = {}
    for process in {*processes_of_database(data), up, *up.children(recursive=True)}:
        with suppress(psutil.Error):
            line = " ".join([process.name(), *process.cmdline()])
            kind = next((kind for part, kind in KINDS.items() if part in line), "up")
            kinds[kind] = kinds.get(kind, 0.0) + process.memory_full_info().pss / 1024**2
    return dict(sorted(kinds.items(), key=lambda item: -item[1]))


def processes_of_database(data: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == "postgres" and process.cwd().startswith(str(data)):
                yield process


def limit(megabytes: int) -> Callable[[], float]:
    return lambda: float(megabytes)


def figure(name: str, ours: Callable[[], float], most: int, words: str) -> Figure:
    return Figure(name, "MB", ours, limit(most), words, at_most=1, on=measured, rounds=1, warm=False)


FIGURES = [
    figure("memory_at_rest", lambda: sum(Bench.demo.values()), 650, "650 MB for `make up` with the demo"),
    figure("memory_after_large", lambda: sum(Bench.after.values()), 650, f"650 MB after a document of {LINES:,} lines"),
    figure("memory_small", lambda: sum(Bench.small.values()), 450, "450 MB with KILIT_SMALL, without the demo"),
]
