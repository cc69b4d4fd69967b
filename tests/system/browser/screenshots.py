"""`make screenshots`: the pictures of the documents, taken from demo data on an installation of their own.

A picture more is a line more in SHOTS.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from pdfjobs.browser import find_browser
from tests.support.commands import ROOT, free_port, fresh_environment

IMAGES = ROOT / "docs" / "images"
READY_WITHIN = 300  # seconds; a first start on a busy machine takes a while
SETTLES_WITHIN = 60  # the demo's jobs run for a while before the pictures stay the same
LARGEST = 200_000  # bytes of one picture


@dataclass(frozen=True)
class Shot:
    """A picture: where, as whom, in which light, what is clicked first and then, and what has to be in view."""

    name: str
    address: str
    click: str = ""
    then: str = ""
    shows: str = ""
    role: str = "operator"
    theme: str = "light"
    language: str = "en"


FIRST_ROW = "#result_list tbody tr th a, #result_list tbody tr td.field-state a, #result_list a[href*='/change/']"
LIST, BULK, DRAFTS = "/admin/ociqueue/conversion/", "/admin/bulk/bulkaction/", "/admin/orchestrator/orderdraft/"
SHOTS = [
    Shot("dashboard", "/admin/"),
    Shot("dashboard-dark", "/admin/", theme="dark"),
    Shot("conversions", f"{LIST}?status=FAILED"),
    Shot("conversion", f"{LIST}?status=FAILED", click=FIRST_ROW),
    Shot("error-groups", f"{LIST}groups/"),
    Shot("bulk-confirm", f"{LIST}all/retry/?status=FAILED"),
    Shot("bulk-action", BULK, click=FIRST_ROW),
    Shot("site", "/admin/ociqueue/site/?q=Ege", click=FIRST_ROW, role="admin"),
    Shot("pdf-job", "/admin/pdfjobs/pdfjob/?status=failed", click=FIRST_ROW),
    Shot("cutting-job", "/admin/orchestrator/job/?status=HOLD", click=FIRST_ROW),
    Shot("cutting-plan", "/admin/orchestrator/job/?status=DONE", click=FIRST_ROW, shows=".kilit-figures"),
    Shot("order", DRAFTS, click="text=DEMO-1007"),
    Shot("order-import", DRAFTS, click="text=DEMO-1008", then="text=Check the order"),
    Shot("figures", "/admin/orchestrator/job/?status=DONE", click=FIRST_ROW, shows="#figures-title"),
    Shot("rules", "/admin/orchestrator/rulesversion/", role="owner"),
    Shot("activity", "/admin/lock/activity/?kind=action", role="owner"),
    Shot("cutting-jobs-turkish", "/admin/orchestrator/job/", language="tr"),
    Shot("workers", "/admin/workers/"),
    Shot("endpoint", "/admin/outbox/endpoint/", click="#result_list a[href*='/change/']", role="owner"),
    Shot("message", "/admin/outbox/outboxmessage/?status=FAILED", click=FIRST_ROW, role="owner"),
]


def main() -> None:
    """Start a product, take every picture, stop it."""
    if not find_browser():
        sys.exit("make screenshots needs a headless Chromium: make up installs one.")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        variables = {"KILIT_VAR": folder, "PORT": str(free_port())}
        product = started(variables)
        try:
            url = f"http://localhost:{variables['PORT']}"
            wait_for(f"{url}/readyz")
            logins = json.loads(managed("demo", "--json", **variables))
            time.sleep(float(os.environ.get("SETTLE", SETTLES_WITHIN)))
            take_all(url, logins)
            database = "from tests.support.workers import database_url; print(database_url())"
            take_runner_page(managed("shell", "--verbosity", "0", "--command", database, **variables).strip())
        finally:
            stop(product)


def take_all(url: str, logins: dict[str, Any]) -> None:
    """Take every picture, and say how large it is."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        retry_some(browser, url, logins)
        for shot in SHOTS:
            path = IMAGES / f"{shot.name}.png"
            page = entered(browser, url, shot, logins)
            page.goto(shot.address)
            if shot.click:
                page.locator(shot.click).first.click()
            if shot.then:
                page.locator(shot.then).first.click()
            page.wait_for_load_state("networkidle")
            if shot.shows:
                page.locator(shot.shows).first.evaluate("part => part.scrollIntoView()")
            page.screenshot(path=path, animations="disabled", caret="hide")
            page.context.close()
            size = path.stat().st_size
            sys.stdout.write(f"{path.relative_to(ROOT)}  {size:,} bytes\n")
            if size > LARGEST:
                sys.exit(f"{path.name} is larger than {LARGEST:,} bytes.")
        browser.close()


def take_runner_page(database_url: str) -> None:
    """Take the status page of a runner with folders of its own, as on the OptiPlanning PC."""
    with tempfile.TemporaryDirectory() as folder:
        template = shutil.copy(ROOT / "orchestrator" / "planning" / "excel" / "Excel_sablon.xlsx", folder)
        variables = {"KILIT_HOME": folder, "KILIT_OPTI_TEMPLATE": template, "KILIT_RUNNER_PORT": str(free_port())}
        runner = subprocess.Popen(
            [sys.executable, "-c", "from config.runner.main import main; main(['run'])"],
            cwd=ROOT,
            env=fresh_environment(**variables, DATABASE_URL=database_url),
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(address := f"http://127.0.0.1:{variables['KILIT_RUNNER_PORT']}/")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 960, "height": 800})
                page.goto(address)
                page.screenshot(path=IMAGES / "runner-page.png", full_page=True)
        finally:
            runner.terminate()
            runner.wait()


def retry_some(browser: Browser, url: str, logins: dict[str, Any]) -> None:
    """Act on all that match, so that there is a bulk action to be seen."""
    page = entered(browser, url, Shot("", ""), logins)
    page.goto(f"{LIST}all/retry/?code=UPLOAD_EXCEPTION")
    page.locator("#id_reason").fill("Google Ads is back.")
    page.locator("#content form button[type=submit]").click()
    page.get_by_text("Retried").wait_for(timeout=SETTLES_WITHIN * 1000)
    page.context.close()


def entered(browser: Browser, url: str, shot: Shot, logins: dict[str, Any]) -> Page:
    """Return a page of a fresh browser, logged in with the form."""
    context = browser.new_context(
        base_url=url,
        color_scheme="dark" if shot.theme == "dark" else "light",
        locale=shot.language,
        timezone_id="Europe/Istanbul",
        viewport={"width": 1280, "height": 800},
        reduced_motion="reduce",
    )
    context.set_default_timeout(SETTLES_WITHIN * 1000)
    page = context.new_page()
    page.goto("/admin/login/")
    page.locator("#id_username").fill(logins[shot.role]["username"])
    page.locator("#id_password").fill(logins[shot.role]["password"])
    page.locator("#login-form button[type=submit]").click()
    page.wait_for_url(f"{url}/admin/")
    return page


def started(variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start everything, in a session of its own that can be stopped whole."""
    command = [sys.executable, "manage.py", "up"]
    return subprocess.Popen(
        command, cwd=ROOT, env=fresh_environment(**variables), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def stop(product: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C, and wait until all is down."""
    product.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        product.wait(timeout=60)
    if product.poll() is None:
        product.kill()


def managed(*arguments: str, **variables: str) -> str:
    """Return what a command prints."""
    command = [sys.executable, "manage.py", *arguments]
    ended = subprocess.run(
        command, cwd=ROOT, env=fresh_environment(**variables), capture_output=True, text=True, check=True
    )
    return ended.stdout


def wait_for(address: str) -> None:
    """Wait until an address answers with success."""
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.5)
    sys.exit(f"{address} was not ready within {READY_WITHIN} s.")


if __name__ == "__main__":
    main()
