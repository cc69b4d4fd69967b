"""Has Prometheus's own promtool judge the alerts over scrapes of the real /metrics.

Unlike our small evaluator it knows `for`, the look-back and the extrapolation of `increase`.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.commands import ROOT
from tests.support.promql import Labels, Scrape
from tests.support.waiting import PATIENCE

RULES = ROOT / "deploy" / "alerts.yml"
# A day of nothing new, so that every range is full and every `for` can pass; then an hour from one scrape to the next.
STEP, CALM, WORK = 5, 25 * 12, 12  # minutes, and how many of them
FIRING = 'group by (alertname) (ALERTS{alertstate="firing"})'


def check_rules() -> subprocess.CompletedProcess[str]:
    """Have the file read as Prometheus reads it."""
    return _promtool("check", "rules", str(RULES))


def rule_test(name: str, before: Scrape, now: Scrape, firing: set[str]) -> dict[str, Any]:
    """Return a test for promtool: between two scrapes these alerts come to fire, and no other."""
    earlier = {(name, labels): value for name, labels, value in before.samples}
    series = [
        {"series": _named(name, labels), "values": _values(name, earlier.get((name, labels)), value)}
        for name, labels, value in now.samples
    ]
    expected = [{"labels": _named("", frozenset({("alertname", alert)})), "value": 1} for alert in sorted(firing)]
    at = f"{(CALM + WORK) * STEP}m"
    return {
        "name": name,
        "interval": f"{STEP}m",
        "input_series": series,
        "promql_expr_test": [{"expr": FIRING, "eval_time": at, "exp_samples": expected}],
    }


def run_tests(tests: list[dict[str, Any]], folder: Path) -> subprocess.CompletedProcess[str]:
    """Have promtool run the tests."""
    file = folder / "alerts_test.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": f"{STEP}m", "tests": tests}))
    return _promtool("test", "rules", str(file))


def _promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)


def _named(name: str, labels: Labels) -> str:
    return f"{name}{{{', '.join(f'{label}={json.dumps(value)}' for label, value in sorted(labels))}}}"


def _values(name: str, before: float | None, now: float) -> str:
    """Let a counter grow within the last hour, and anything else be all the while what it is now."""
    if before is None or not name.endswith(("_total", "_bucket", "_count", "_sum")):
        return f"{now}+0x{CALM + WORK}"
    return f"{before}+0x{CALM - 1} {before}+{(now - before) / WORK}x{WORK}"
