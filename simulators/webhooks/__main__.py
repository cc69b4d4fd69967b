"""`python -m simulators.webhooks --port 8090 --secret whsec_…`: receive webhooks until Ctrl-C."""

import argparse
import asyncio
import signal
import sys

from kilit.workers.processes import die_with_parent
from simulators.webhooks.receiver import WebhookReceiver


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
    parser = argparse.ArgumentParser(prog="python -m simulators.webhooks", description="Receive and verify webhooks.")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one and prints it")
    parser.add_argument("--secret", action="append", default=[], help="a secret of an endpoint; may be repeated")
    asked = parser.parse_args()
    die_with_parent()
    asyncio.run(run(WebhookReceiver(asked.secret, port=asked.port)))


if __name__ == "__main__":
    main()
