"""The receivers' guide: its kinds are those of the code, and its code verifies what is really sent."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from outbox.batches import signed_headers, signers_of
from outbox.models.endpoint import ROTATION
from outbox.states import EXPIRES_AFTER, RETRY_AFTER, SWITCH_OFF_AFTER
from tests.support.outbox import make_endpoint, make_message
from tests.support.webhook_guide import BEGIN, END, GUIDE, kinds_section

pytestmark = pytest.mark.django_db

TEXT = GUIDE.read_text()
BODY = json.dumps({"type": "test", "data": {"name": "Satış"}}, ensure_ascii=False)
LIBRARY, OWN = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
(NODE,) = re.findall(r"```javascript\n(.*?)```", TEXT, re.DOTALL)
# What the example reads from its caller, and what it prints.
RUN_NODE = """
const given = JSON.parse(require("node:fs").readFileSync(0));
try { console.log(JSON.stringify(verify(given.secret, given.headers, Buffer.from(given.body)))); }
catch (error) { console.log(`refused: ${error.message}`); }
"""

Verify = Callable[[str, dict[str, str], str], Any]


def in_python(code: str) -> Verify:
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the document's own code

    def verify(secret: str, headers: dict[str, str], body: str) -> Any:
        try:
            return names["verify"](secret, headers, body.encode())
        except Exception as error:  # noqa: BLE001 - the library has its own errors
            return f"refused: {error}"

    return verify


def in_node(secret: str, headers: dict[str, str], body: str) -> Any:
    given = json.dumps({"secret": secret, "headers": headers, "body": body})
    ran = subprocess.run(
        ["node", "-e", NODE + RUN_NODE], input=given, capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout.strip() if ran.stdout.startswith("refused") else json.loads(ran.stdout)


NEEDS_NODE = pytest.mark.skipif(not shutil.which("node"), reason="needs node, to run its example")
RECEIVERS = [
    pytest.param(in_python(LIBRARY), id="library"),
    pytest.param(in_python(OWN), id="python"),
    pytest.param(in_node, id="node", marks=[pytest.mark.processes, NEEDS_NODE]),
]


@pytest.fixture
def sent() -> tuple[list[str], dict[str, str]]:
    """Return the secrets of an endpoint that is rotating them, the new one first, and the headers of a message."""
    endpoint = make_endpoint()
    endpoint.rotate_secret()
    message = make_message(endpoint=endpoint, body=BODY)
    now = datetime.now(UTC)
    return endpoint.secrets(now), signed_headers(message, signers_of(endpoint, now), at=now)


@pytest.mark.parametrize("verify", RECEIVERS)
def test_the_guide_s_code_accepts_what_is_sent_with_either_secret(verify: Verify, sent) -> None:
    (new, old), headers = sent

    assert verify(new, headers, BODY) == verify(old, headers, BODY) == json.loads(BODY)


@pytest.mark.parametrize("verify", RECEIVERS)
def test_the_guide_s_code_refuses_what_was_changed_or_is_old(verify: Verify, sent) -> None:
    (secret, _), headers = sent
    endpoint = make_endpoint()
    (foreign,) = endpoint.secrets(datetime.now(UTC))
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    old = signed_headers(make_message(endpoint=endpoint, body=BODY), signers_of(endpoint, an_hour_ago), at=an_hour_ago)

    refused = [
        verify(secret, headers, BODY.replace("Satış", "Satis")),
        verify(secret, {**headers, "webhook-id": "msg_1"}, BODY),
        verify(foreign, headers, BODY),
        verify(foreign, old, BODY),
    ]

    assert [str(answer).partition(":")[0] for answer in refused] == ["refused"] * 4


def test_the_guide_lists_the_kinds_of_the_code() -> None:
    """To write them, see tests/support/webhook_guide.py."""
    assert TEXT.partition(BEGIN)[2].partition(END)[0] == kinds_section()


def spelled(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            return f"{seconds // size} {unit}{'s' if seconds != size else ''}"
    raise AssertionError


def test_the_guide_names_the_times_of_the_code() -> None:
    *waits, last = [spelled(wait) for wait in RETRY_AFTER]
    words = " ".join(TEXT.split())

    assert f"{', '.join(waits)} and {last}" in words
    assert f"For {spelled(ROTATION)} messages carry two signatures" in words
    assert (timedelta(days=3), timedelta(days=4)) == (SWITCH_OFF_AFTER, EXPIRES_AFTER)
    assert "every attempt has failed for three days" in words
    assert "Messages that wait are kept for four days." in words
