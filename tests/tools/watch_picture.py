"""Draws docs/images/watch.svg: `kilit watch` as it looks with the demo's data on a day with some trouble.

`make screenshots` runs it; no server is needed.
"""

import re
from datetime import UTC, datetime, timedelta
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, Group

from kilit_cli.asking import draw_screen
from tests.support.commands import ROOT

WIDTH = 90
# Rich's picture without the fonts that it would fetch from another server.
OWN_FONTS = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
QUEUES = (
    # title, waiting, in progress, done, failed, ended well and badly, minutes that the oldest has waited
    ("Offline conversions", 41, 12, 18_204, 9, 1_312, 9, 4),
    ("Adjustments", 2, 0, 118, 1, 6, 1, 12),
    ("PDF documents", 3, 2, 5_077, 1, 246, 1, 0),
    ("Panel cutting", 1, 4, 312, 2, 17, 2, 55),
    ("Webhooks and alerts", 0, 0, 20_944, 0, 1_590, 0, None),
)
PROBLEMS = (
    ("error", "Offline conversions: 9 failed"),
    ("warning", "1 cutting job waits for OptiPlanning"),
    ("warning", "Webhooks and alerts are paused"),
)


def stats() -> dict[str, object]:
    now = datetime.now(UTC)
    names = ("title", "waiting", "in_progress", "done", "failed", "ended_well", "ended_badly")
    queues = [
        {
            **dict(zip(names, row[:-1], strict=True)),
            "oldest_waiting_since": row[-1] is not None and str(now - timedelta(minutes=row[-1], seconds=20)),
            "is_paused": row[0].startswith("Webhooks"),
            "paused_by": "ayse",
            "pause_reason": "The shop moves to a new server.",
        }
        for row in QUEUES
    ]
    return {"queues": queues, "workers_running": True}


def main() -> None:
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    problems = {"problems": [{"severity": severity, "title": title} for severity, title in PROBLEMS]}
    console.print("[bold]$[/bold] kilit watch")
    console.print(Group(*draw_screen("https://kilit.example", stats(), problems)))
    console.save_svg(
        str(ROOT / "docs" / "images" / "watch.svg"), title="kilit watch", code_format=OWN_FONTS, unique_id="watch"
    )


if __name__ == "__main__":
    main()
