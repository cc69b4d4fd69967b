"""A procrastinate worker: on each line of its input it works until nothing is left, and then says so.

With --idle it waits for jobs, as `procrastinate worker` does.
"""

import asyncio
import sys

import procrastinate

CONCURRENCY = 10


def make_app(conninfo: str) -> procrastinate.App:
    """Return an app with one task that does nothing."""
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=conninfo, min_size=CONCURRENCY, max_size=CONCURRENCY + 2)
    )

    @app.task(name="nothing")
    async def nothing() -> None:
        """Do nothing."""

    return app


async def work(app: procrastinate.App) -> None:
    """Answer each line."""
    loop = asyncio.get_running_loop()
    async with app.open_async():
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while await loop.run_in_executor(None, sys.stdin.readline):
            await app.run_worker_async(
                concurrency=CONCURRENCY,
                wait=False,
                listen_notify=False,
                delete_jobs="always",
                install_signal_handlers=False,
            )
            sys.stdout.write("done\n")
            sys.stdout.flush()


async def wait(app: procrastinate.App) -> None:
    """Wait for jobs."""
    async with app.open_async():
        await app.run_worker_async()


if __name__ == "__main__":
    app = make_app(sys.argv[1])
    asyncio.run(wait(app) if "--idle" in sys.argv else work(app))
