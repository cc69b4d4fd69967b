"""The kinds in docs/webhooks.md, made from the code.

`manage.py shell -c "from tests.support.webhook_guide import write; write()"` writes them.
"""

import json

from django.utils.translation import override

from kilit.api.schema import example_body
from kilit.api.webhooks import TEST, TEST_EXAMPLE, webhook_kinds
from tests.support.commands import ROOT

GUIDE = ROOT / "docs" / "webhooks.md"
BEGIN, END = "<!-- kinds -->\n", "<!-- end of kinds -->\n"
SHOWN = (
    "conversion.failed",
    "adjustment.completed",
    "pdf.succeeded",
    "cutting.hold",
    "site.paused",
    "circuit.opened",
    TEST,
)


def kinds_section() -> str:
    """Return a table of the kinds, and an example of each group."""
    with override("en"):
        rows = sorted((kind.name, str(kind.about)) for kind in webhook_kinds.values())
    rows.append((TEST, "Someone sent a test to the endpoint."))
    lines = ["", "| type | when |", "|---|---|", *(f"| `{name}` | {about} |" for name, about in rows), ""]
    for name in SHOWN:
        data = TEST_EXAMPLE if name == TEST else webhook_kinds[name].example
        lines += ["```json", json.dumps(example_body(name, data), indent=2, ensure_ascii=False), "```", ""]
    return "\n".join(lines)


def write() -> None:
    before, _, rest = GUIDE.read_text().partition(BEGIN)
    GUIDE.write_text(before + BEGIN + kinds_section() + END + rest.partition(END)[2])
