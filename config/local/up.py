"""What `manage.py up` becomes when all is prepared: it runs the services, without Django and its memory."""

import json
import math
import os
import sys
import threading
import time
import urllib.request
from contextlib import nullcontext
from pathlib import Path

from config.local.screen import Screen, ServiceLogs
from config.local.stack import Stack
from kilit.postgres.server import Server

READY_WITHIN = 60  # seconds


def main() -> int:
    with os.fdopen(int(sys.argv[1])) as pipe:
        plan = json.load(pipe)
    stack = Stack(Path.cwd(), lock=Path(plan["lock"]))
    for name, value in plan["services"].items():
        setattr(stack, name, value)
    if plan["log"]:
        stack.logs = ServiceLogs(Path(plan["log"]), Screen(sys.stdout))
    if plan["postgres"]:
        Server(Path(plan["postgres"]), is_small=plan["small"]).ensure_running()  # until the end
    threading.Thread(target=greet, args=(stack, plan["address"], plan["greeting"]), daemon=True).start()
    code = stack.run()
    if stack.logs:
        stack.logs.close()
        stack.logs.screen.line("Stopped. `make up` starts it again." if code == 0 else f"The log is {plan['log']}.")
    return code


def greet(stack: Stack, address: str, greeting: list[str]) -> None:
    with stack.logs.screen.step("Starting the services") if stack.logs else nullcontext() as step:
        if step:
            step.progress = ", ".join(stack.names())
        wait_until_ready(stack, f"{address}/readyz")
    if stack.logs:
        lines = ["", f"Log: {stack.logs.file}", "Warnings and errors are also shown below. Ctrl-C stops it."]
        stack.logs.screen.line("\n".join([*greeting, *lines]))
        return
    sys.stdout.write("\n".join([*greeting, "", "Ctrl-C stops it.", ""]))
    sys.stdout.flush()


def wait_until_ready(stack: Stack, address: str) -> None:
    end = time.monotonic() + READY_WITHIN
    while not is_ready(address):
        if time.monotonic() >= end:
            place = stack.logs.file if stack.logs else "the log above"
            message = f"kilit: {address} is not ready yet; see {place}."
            stack.logs.screen.line(message) if stack.logs else sys.stderr.write(f"{message}\n")
            end = math.inf  # warn once; it may still become ready
        time.sleep(0.3)


def is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=30) as response:  # noqa: S310 - our own loopback address
            return bool(response.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
