"""`kilit watch`: counts and problems on one screen, read again every few seconds."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from kilit_cli.api import JsonObject, KilitApi
from kilit_cli.asking import connect, draw_stats
from kilit_cli.failures import ExitCode, Failure
from kilit_cli.output import line, out, styled, tint

SHORTEST, MOST_PROBLEMS = 1.0, 8
Every = Annotated[float, Parameter(help="Seconds between two looks, at least 1.")]
Once = Annotated[bool, Parameter(negative="", help="Print the screen once.")]


def watch(*, every: Every = 2.0, once: Once = False) -> None:
    """Show live counts of all queues and what is wrong, on one screen; Ctrl-C ends it."""
    api = connect()
    screen = look(api)
    if once:
        out.print(screen)
        return
    with Live(screen, console=out, screen=out.is_terminal, auto_refresh=False) as live:
        while True:
            time.sleep(max(every, SHORTEST))
            try:
                screen = look(api)
                live.update(screen, refresh=True)
            except Failure as failure:
                if failure.exit_code != ExitCode.UNREACHABLE:
                    raise
                # The server may be restarting: the last counts stay.
                live.update(Group(tint(f"{failure.message} Looking again …", "failed"), screen), refresh=True)


def look(api: KilitApi) -> Group:
    return Group(*draw_screen(api.address, api.post("/api/ask/queue_stats", {}), api.post("/api/ask/problems", {})))


def draw_screen(address: str, stats: JsonObject, problems: JsonObject) -> Iterator[RenderableType]:
    workers = tint("workers run", "done") if stats["workers_running"] else tint("no worker runs", "failed")
    yield line(styled("Kilit", "bold"), styled(f"{address}  {datetime.now().astimezone():%H:%M:%S}", "dim"), workers)
    yield Text()
    yield from draw_stats(stats)
    yield Text()
    for problem in problems["problems"][:MOST_PROBLEMS]:
        yield tint(f"● {problem['title']}", problem["severity"])
    beyond = len(problems["problems"]) - MOST_PROBLEMS
    yield (
        f"… and {beyond} more: kilit problems" if beyond > 0 else styled("kilit problems has causes and advice.", "dim")
    )
