"""`WEBHOOK_SECRETS="whsec_…" python -m simulators.webhooks --port 8090`: receive webhooks until Ctrl-C."""

import argparse
import asyncio
import os
import signal
import sys

from kilit.workers.processes import die_with_parent
from simulators.webhooks.receiver import WebhookReceiver

DESCRIPTION = "Receive and verify webhooks. WEBHOOK_SECRETS has the secrets of the endpoints, separated by spaces."


async def run(receiver: WebhookReceiver) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = await receiver.serve()
    sys.stdout.write(f"Receiving webhooks at {receiver.url}/\n")
    sys.stdout.flush()
    await stop.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simulators.webhooks", description=DESCRIPTION)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one and prints it")
    asked = parser.parse_args()
    die_with_parent()
    secrets = os.environ.pop("WEBHOOK_SECRETS", "").split()
    asyncio.run(run(WebhookReceiver(secrets, port=asked.port)))


if __name__ == "__main__":
    main()
