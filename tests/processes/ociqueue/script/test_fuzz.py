"""The Ads Script ends with a message whatever the server answers."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from ociqueue.script.ads_script import render_script
from tests.support.ads_script import ACK, ACK_FAILED, EXPORT, run_under_node
from tests.support.examples import few
from tests.support.garbage import spoilt, values

KEY = "kilit_a-key-that-must-not-be-shown"


ROW = {
    "id": "seal_1",
    "gclid": "Cj0KCQ-secret",
    "conversionName": "Satış",
    "conversionTime": "2026-11-14 10:00:00+03:00",
    "conversionValue": 99.9,
    "conversionCurrency": "TRY",
    "orderId": "order-1",
}


SCRIPT = render_script(base_url="http://127.0.0.1:9", site_id="a" * 32, api_key=KEY, time_zone="Europe/Istanbul")


OTHERS = [ROW | {"id": f"seal_{number}", "gclid": f"Cj0KCQ-secret-{number}"} for number in (2, 3)]


@few(25, derandomize=True)
@example(exported=[None, ROW], acked={"ok": True, "updated": 1}, status=200)
@example(exported=[ROW | {"id": None}, *OTHERS], acked=None, status=200)
@example(exported={"error": {"code": {}, "message": []}}, acked={}, status=400)
@given(
    exported=spoilt([ROW, *OTHERS]) | values,
    acked=st.just({"ok": True, "updated": 1}) | values,
    status=st.sampled_from([200, 200, 200, 204, 302, 400, 500]),
)
def test_whatever_the_server_responds_the_script_ends_with_a_message(exported: Any, acked: Any, status: int) -> None:
    """Each row it was given is uploaded and acknowledged, or reported; nothing is uploaded that is no conversion."""
    exports = {"path": EXPORT, "times": 9, "status": status, "body": json.dumps(exported), "headers": {}}
    acks = {"times": 99, "status": 200, "body": json.dumps(acked), "headers": {}}
    answers = [exports, acks | {"path": ACK}, acks | {"path": ACK_FAILED}]

    run = run_under_node(SCRIPT, answers=answers)

    said = "\n".join([*run.logs, run.error or ""])
    assert not any(word in said for word in (KEY, "Cj0KCQ", "undefined", "[object", "Cannot read", "is not a")), said
    assert run.logs[-1].startswith("Claimed ")
    for upload in run.uploads:
        for click_id, name, time, value, currency, order in upload["rows"]:
            assert all(isinstance(cell, str) and cell.strip() for cell in (click_id, name, time, currency, order))
            assert value >= 0
    uploaded = sum(len(upload["rows"]) for upload in run.uploads)
    acknowledged = [each for sent in run.bodies(ACK) for each in sent["queueIds"]]
    reported = [each for sent in run.bodies(ACK_FAILED) for each in sent["queueIds"]]
    assert len(set(acknowledged)) <= uploaded
    assert all(isinstance(each, str) and each for each in acknowledged + reported)
