"""`make trial-oidc`: a login provider that accepts connections and never answers does not stop the web.

It starts a database, one web process with 16 threads, and a silent provider on loopback. 24 visitors press the button
of the provider at once, and a program with a key asks the API meanwhile. The trial fails if a request of the program
fails, if all of them wait for the visitors, or if the provider is asked again and again.
"""

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from config.local.stack import procfile
from tests.support.commands import ROOT, free_port
from tests.support.installation import Installation, installation
from tests.support.silent_provider import SilentProvider, silent_provider
from tests.support.waiting import PATIENCE, wait_until

VISITORS = 24
MOST_ASKED = 3  # connections to the provider; a slow machine may take longer than the pause after a silence
MAKE_SITE = (
    "from ociqueue.models import Site; site = Site.objects.create(name='Trial', default_currency='TRY'); "
    "print('KEY', site.public_id, site.issue_key(name='trial'))"
)


@dataclass
class Trial:
    port: int
    site: str
    key: str
    provider: SilentProvider
    answers: list[int] = field(default_factory=list)  # of the API
    slowest: float = 0.0  # seconds
    pages: list[int] = field(default_factory=list)  # of the visitors
    answers_meanwhile: int = 0  # answers of the API while a visitor waited

    def run(self) -> None:
        is_over = threading.Event()
        program = threading.Thread(target=self._use_api, args=[is_over])
        with ThreadPoolExecutor(VISITORS) as pool:
            visits = [pool.submit(self._visit) for _ in range(VISITORS)]
            wait_until(lambda: self.provider.connections, every=0.01)
            program.start()
            for visit in visits:
                visit.result(PATIENCE)
        is_over.set()
        program.join(PATIENCE)

    def faults(self) -> list[str]:
        asked = len(self.provider.connections)
        return [
            text
            for is_wrong, text in [
                (set(self.answers) != {200}, f"the API answered {sorted(set(self.answers))}"),
                (not self.answers_meanwhile, "no request of the API was answered before the visitors were"),
                (not set(self.pages) <= {502, 503}, f"visitors got {sorted(set(self.pages))}"),
                (asked > MOST_ASKED, f"the provider was asked {asked} times"),
            ]
            if is_wrong
        ]

    def _visit(self) -> None:
        self.pages.append(self._status(urllib.request.Request(f"http://127.0.0.1:{self.port}/admin/login/oidc/")))

    def _use_api(self, is_over: threading.Event) -> None:
        body = json.dumps({"siteId": self.site}).encode()
        headers = {"x-api-key": self.key, "Content-Type": "application/json"}
        while not is_over.is_set() or not self.answers:
            start = time.monotonic()
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/oci/v2/verify", body, headers)
            self.answers.append(self._status(request))
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.answers_meanwhile += len(self.pages) < VISITORS

    def _status(self, request: urllib.request.Request) -> int:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code


def start_web(made: Installation, port: int, provider: SilentProvider) -> subprocess.Popen[bytes]:
    command = dict(procfile(ROOT))["web"].split()
    variables = {
        "PORT": str(port),
        "WEB_CONCURRENCY": "1",
        "KILIT_OIDC_ISSUER": provider.address,
        "KILIT_OIDC_CLIENT_ID": "kilit",
        "KILIT_OIDC_CLIENT_SECRET": "trial",
        "KILIT_OIDC_GROUPS": "ops=operator",
    }
    process = made.start(ROOT / ".venv" / "bin" / command[0], *command[1:], variables=variables)

    def answers() -> bool:
        assert process.poll() is None, made.log.read_text()[-2000:]
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE):
            return True
        return False

    wait_until(answers)
    return process


def main() -> int:
    with installation() as made, silent_provider() as provider:
        made.must("migrate", "--verbosity", "0")
        site, key = made.must("shell", "--verbosity", "0", "--command", MAKE_SITE).split("KEY ")[1].split()[:2]
        port = free_port()
        start_web(made, port, provider)
        trial = Trial(port, site, key, provider)
        trial.run()
        faults = trial.faults()
    sys.stdout.write(
        f"{VISITORS} visitors got {sorted(set(trial.pages))}. Asked the provider: {len(provider.connections)} times. "
        f"The API answered {len(trial.answers)} requests, {trial.answers_meanwhile} of them while visitors waited; "
        f"the slowest took {trial.slowest:.1f} s.\n"
    )
    for fault in faults:
        sys.stdout.write(f"FAILED: {fault}\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
