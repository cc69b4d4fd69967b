"""PDFs: from POST to a finished row, against a bare page and against other ways to make the same document."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from ctypes.util import find_library
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from django.conf import settings
from django.contrib.auth.models import Group, User

from kilit.access.models import ApiKey
from kilit.workers.models import Heartbeat
from pdfjobs.browser import find_browser
from pdfjobs.documents import document
from pdfjobs.models import PdfJob
from pdfjobs.rendering import PageOptions
from pdfjobs.rendering.fonts import configuration
from pdfjobs.rendering.options import head
from pdfjobs.states import UNFINISHED, PdfStatus
from tests.tools.benchmarks.harness import Figure, NotMeasured
from tests.tools.benchmarks.servers import PATIENCE, Web, started, web

JOBS = 80  # of ours and of the bare page in a round
PEERS_JOBS = 12  # of a peer that takes ten times as long
PAUSED_JOBS = 15  # of the latency: one after the other, each on an idle system
CALLERS = 4
PROCESSES = settings.WORKERS

numbers = count(1)
stage: "Stage"


class Stage:
    """What all the figures stand on: web and workers as they come, and as many processes of each peer."""

    def __init__(self, server: Web, workers: psutil.Process, folder: Path, stack: ExitStack) -> None:
        """Give each caller a connection of its own."""
        self.server, self.workers = server, workers
        owner = User.objects.get_or_create(username="bench-pdf")[0]
        owner.groups.set(Group.objects.filter(name="operator"))
        key = ApiKey.objects.issue(owner, name="bench")[1]
        self.callers = [server.with_headers(x_api_key=key) for _ in range(CALLERS)]
        self.folder, self.stack = folder, stack
        self.peers: dict[str, list[subprocess.Popen[str]]] = {}

    def peer(self, kind: str) -> list[subprocess.Popen[str]]:
        """Return the processes of a peer, started once."""
        if kind not in self.peers:
            self.peers[kind] = [self._start(kind) for _ in range(PROCESSES)]
        return self.peers[kind]

    def _start(self, kind: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.tools.benchmarks.bare_pages", kind, str(find_browser())]
        environment = {**os.environ, "FONTCONFIG_FILE": str(configuration())}
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR
        )
        self.stack.callback(_end, process)
        return process


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.close()
    process.wait(timeout=30)


@contextmanager
def on_stage() -> Iterator[None]:
    """Start everything, with files in a folder that goes away."""
    global stage
    if find_browser() is None:
        raise NotMeasured("there is no headless Chromium here; `manage.py browser` installs one")
    with TemporaryDirectory() as folder, ExitStack() as stack:
        server = stack.enter_context(web(processes=settings.WEB_CONCURRENCY, KILIT_VAR=folder))
        workers = stack.enter_context(started(["manage.py", "runworkers"], KILIT_VAR=folder))
        _wait(lambda: Heartbeat.objects.alive().filter(pid=workers.pid).exists())
        stage = Stage(server, workers, Path(folder), stack)
        yield


def missing(words: str) -> Callable[[], AbstractContextManager[None]]:
    """Return a stage for a peer that is not here."""

    @contextmanager
    def without() -> Iterator[None]:
        raise NotMeasured(words)
        yield

    return without


def ours() -> float:
    """Return jobs a second, from the first POST to the last row that says succeeded."""
    return made(JOBS)


def made(amount: int) -> float:
    """Have documents made, and return how many a second were."""
    bodies = [asked() for _ in range(amount)]
    start = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as pool:
        shares = [bodies[number::CALLERS] for number in range(CALLERS)]
        jobs = [job for share in pool.map(_post, stage.callers, shares) for job in share]
    # The first entry of an index: watching must not cost what a render costs.
    _wait(lambda: not PdfJob.objects.filter(status__in=UNFINISHED).exists())
    rows = PdfJob.objects.filter(pk__in=jobs)
    took = time.perf_counter() - start
    if rows.filter(status=PdfStatus.SUCCEEDED).count() != amount:
        raise RuntimeError(f"not all succeeded: {list(rows.values_list('error_detail', flat=True).distinct())}")
    return amount / took


def _post(caller: Web, bodies: list[Any]) -> list[str]:
    return [caller.post("/pdf/jobs", body)["job_id"] for body in bodies]


def bare() -> float:
    """Return pages a second of as many bare Playwright loops as we have workers."""
    return _rate("playwright", JOBS)


def by_weasyprint() -> float:
    """Return pages a second of as many processes with WeasyPrint."""
    return _rate("weasyprint", PEERS_JOBS)


def by_cli() -> float:
    """Return pages a second when each document starts Chromium's own command line."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return _by_command(lambda page, pdf: [str(find_browser()), *root, f"--print-to-pdf={pdf}", f"file://{page}"])


def by_wkhtmltopdf() -> float:
    """Return pages a second of wkhtmltopdf, a process for each document."""
    return _by_command(lambda page, pdf: ["wkhtmltopdf", "--quiet", str(page), str(pdf)])


def _by_command(command: Callable[[Path, Path], list[str]]) -> float:
    pages = []
    for number, html in enumerate(htmls(PEERS_JOBS)):
        page = stage.folder / f"page-{number}.html"
        page.write_text(html)
        pages.append((page, page.with_suffix(".pdf")))

    def make(page: Path, pdf: Path) -> None:
        pdf.unlink(missing_ok=True)
        environment = {**os.environ, "FONTCONFIG_FILE": str(configuration())}
        subprocess.run(command(page, pdf), env=environment, capture_output=True, timeout=PATIENCE, check=False)
        if not pdf.read_bytes().startswith(b"%PDF"):
            raise RuntimeError(f"no PDF by {command(page, pdf)[0]}")

    start = time.perf_counter()
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(lambda pair: make(*pair), pages))
    return PEERS_JOBS / (time.perf_counter() - start)


def latency() -> float:
    """Return the median milliseconds from POST to a file that can be fetched, on an idle system."""
    caller, took = stage.callers[0], []
    for _ in range(PAUSED_JOBS):
        time.sleep(0.3)  # idle again, also the doorbell
        start = time.perf_counter()
        job = caller.post("/pdf/jobs", asked())["job_id"]
        while not isinstance(caller.get(f"/pdf/jobs/{job}/download"), bytes):  # until then it is JSON
            time.sleep(0.005)
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def bare_latency() -> float:
    """Return the median milliseconds of a bare page, alone on the machine."""
    return statistics.median(_asked(stage.peer("playwright")[0], htmls(PAUSED_JOBS), "alone")) * 1000


def _rate(kind: str, pages: int) -> float:
    """Let every process of a peer print its share at the same time."""
    shares = [htmls(pages // PROCESSES) for _ in range(PROCESSES)]
    start = time.perf_counter()
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(_asked, stage.peer(kind), shares, range(PROCESSES)))
    return pages / (time.perf_counter() - start)


def _asked(process: subprocess.Popen[str], pages: list[str], name: object) -> list[float]:
    path = stage.folder / f"pages-{name}.json"
    path.write_text(json.dumps(pages))
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{path}\n")
    process.stdin.flush()
    return list(json.loads(process.stdout.readline()))


def asked() -> dict[str, Any]:
    """Return a request for an invoice that nobody asked for before: the same one would be found, not made."""
    sample = document("invoice").sample
    return {"template_name": "invoice", "variables": {**sample, "number": f"BENCH-{next(numbers):06d}"}}


def htmls(amount: int) -> list[str]:
    """Return as many invoices as a worker gives its browser."""
    invoice, options = document("invoice"), PageOptions.read({})
    pages = [invoice.html(asked()["variables"]) for _ in range(amount)]
    return [head(page, options) + page for page in pages]


def _wait(question: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not question():
        if time.monotonic() > end:
            raise RuntimeError("nothing happened for a minute")
        time.sleep(0.03)


def _has_weasyprint() -> bool:
    """Tell whether it is here with its library; it comes with the tools of development, Pango does not."""
    return bool(find_spec("weasyprint") and find_library("pango-1.0"))


LOOP = f"{PROCESSES} bare Playwright loops, each on one page that is used again and again"
WEASYPRINT = on_stage if _has_weasyprint() else missing("WeasyPrint does not start here; it needs Pango: apt has it")
WKHTMLTOPDF = on_stage if shutil.which("wkhtmltopdf") else missing("wkhtmltopdf is not installed; apt has it")

FIGURES = [
    Figure("pdf_throughput", "jobs/s", ours, bare, LOOP, at_least=0.9, on=on_stage),
    Figure("pdf_vs_cli", "jobs/s", ours, by_cli, "chromium --print-to-pdf, a process each", at_least=5, on=on_stage),
    Figure("pdf_vs_weasyprint", "jobs/s", ours, by_weasyprint, "WeasyPrint", at_least=3, on=WEASYPRINT),
    Figure("pdf_vs_wkhtmltopdf", "jobs/s", ours, by_wkhtmltopdf, "wkhtmltopdf", at_least=5, on=WKHTMLTOPDF),
    Figure("pdf_latency", "ms", latency, bare_latency, "one render on a bare page", at_most=2, on=on_stage, rounds=4),
]
