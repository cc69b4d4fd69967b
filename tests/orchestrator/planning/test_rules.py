"""The factory's rules: re-read when they change, refused with the line, the last good ones stay."""

import json
import os
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Code, JobError
from orchestrator.planning.rules import InvalidRules, current_rules, read_rules, rules_error
from tests.support.cutting_rules import SHIPPED


def changed(**changes: Any) -> str:
    return json.dumps({**SHIPPED, **changes}, indent=2, ensure_ascii=False)


def test_the_shipped_rules_are_those_of_the_factory() -> None:
    rules = current_rules()

    assert rules_error() == ""
    assert rules.trim_by_thickness == {Decimal(18): 10, Decimal(3): 5, Decimal(4): 5, Decimal(5): 5, Decimal(8): 5}
    assert rules.edge_mapping == {"Bant Yok": None, "040": Decimal("0.4"), "1mm": 1, "2mm": 2}
    assert rules.retry_backoff == [timedelta(minutes=1), timedelta(minutes=3), timedelta(minutes=9)]
    assert (rules.retry_count_max, rules.opti_mode_default, rules.xml_expected) == (3, "C", "job")
    assert (rules.timeouts.opti_xml, rules.timeouts.osi_ack) == (timedelta(minutes=20), timedelta(minutes=5))


def test_a_change_on_disk_is_seen_without_a_restart(rules_file: Path) -> None:
    before = current_rules()
    stamp = rules_file.stat()
    rules_file.write_text(changed(trimByThickness={"18": 12, "16": 8}))
    # An editor may keep the time stamp, and the size may be the same.
    os.utime(rules_file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert Decimal(16) not in before.trim_by_thickness
    assert current_rules().trim_by_thickness[Decimal(16)] == 8


def test_a_broken_or_missing_file_is_reported_and_the_last_good_rules_stay(rules_file: Path) -> None:
    good = current_rules()
    rules_file.write_text(rules_file.read_text().replace('"grainMapping": {', '"grainMapping": {,', 1))

    line = rules_file.read_text()[: rules_file.read_text().index('"grainMapping"')].count("\n") + 1
    assert rules_error().startswith(f"rules.json: line {line}: ")
    assert current_rules() is good
    rules_file.unlink()
    assert rules_error() == "rules.json: cannot be read: No such file or directory."
    assert current_rules() is good


def test_a_fixed_file_is_good_again(rules_file: Path) -> None:
    current_rules()
    rules_file.write_text("{")
    assert rules_error()

    rules_file.write_text(changed(retry_count_max=2))

    assert rules_error() == ""
    assert current_rules().retry_count_max == 2


def test_without_any_good_rules_the_reason_is_a_fault(rules_file: Path) -> None:
    rules_file.write_text(json.dumps({key: SHIPPED[key] for key in SHIPPED if key not in ("timeouts", "edgeMapping")}))

    with pytest.raises(JobError) as fault:
        current_rules()

    assert fault.value.code == Code.UNKNOWN
    assert fault.value.message == (
        "There are no valid rules. rules.json: "
        "line 1: edgeMapping: This field is required. line 1: timeouts: This field is required."
    )


@pytest.mark.parametrize(
    ("changes", "line", "complaint"),
    [
        ({"trimByThickness": {"18": 10, "3": "5"}}, 5, "trimByThickness.3: Expected a number from 0 to 10,000."),
        ({"trimByThickness": {"18": True}}, 4, "trimByThickness.18: Expected a number from 0 to 10,000."),
        ({"trimByThickness": {"18": -1}}, 4, "trimByThickness.18: Expected a number from 0 to 10,000."),
        ({"trimByThickness": {"18": 10, "18.0": 5}}, 5, "trimByThickness.18.0: 18.0 appears twice"),
        ({"trimByThickness": {"18mm": 10}}, 4, "trimByThickness.18mm: Expected a thickness in millimetres"),
        ({"trimByThickness": {}}, 3, "trimByThickness: Expected at least 1, got 0."),
        ({"trimByThickness": [18]}, 3, "trimByThickness: Expected an object."),
        ({"cm_to_mm_multiplier": 0}, 2, "cm_to_mm_multiplier: Expected a number above 0, up to 10,000."),
        ({"edgeMapping": {"1mm": "1"}}, 17, "edgeMapping.1mm: Expected a number above 0, up to 10,000."),
        ({"grainMapping": {"4": 0}}, 23, "grainMapping.4: Expected a grain from 0 to 3"),
        ({"grainMapping": {"0": 7}}, 23, "grainMapping.0: Expected a whole number from 0 to 3"),
        ({"optiModeDefault": "E"}, None, "optiModeDefault: Expected one of A, B, C, D"),
        ({"retry_backoff_minutes": [1]}, None, "Needs a time for each of retry_count_max retries"),
        ({"retry_backoff_minutes": []}, None, "retry_backoff_minutes: Expected at least 1, got 0."),
        ({"timeouts": {"optiXmlMinutes": 20}}, None, "timeouts.osiAckMinutes: This field is required."),
        (
            {"timeouts": {"optiXmlMinutes": 20, "osiAckMinutes": 0}},
            None,
            "osiAckMinutes: Expected minutes above 0, up to 1,440.",
        ),
        (
            {"defaultPlateSize": {"width_mm": 1}},
            None,
            "defaultPlateSize.height_mm: This field is required: a number",
        ),
        ({"xml_expected": "both"}, None, "Expected one of job, batch."),
        ({"ackMode": "http"}, None, "Expected one of file_move."),
        ({"mergePolicy": {"defaultDisabled": False}}, None, "Parts are never merged"),
        (
            {"trimByThicknes": {}},
            None,
            "trimByThicknes: Unknown field. Known fields: cm_to_mm_multiplier, trim",
        ),
    ],
)
def test_a_wrong_value_is_reported_with_its_line(changes: dict[str, Any], line: int | None, complaint: str) -> None:
    with pytest.raises(InvalidRules) as refused:
        read_rules(changed(**changes).encode())

    assert complaint in str(refused.value)
    assert str(refused.value).startswith(f"line {line or ''}")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "line 1: Expecting value."),
        (b"[]", "line 1: Expected an object."),
        (b'{\n"a": 1,\n"a": 2}', "line 3: a appears twice."),
        (b'{\n"a": NaN}', "NaN is not a number in JSON."),
        (b'{\n"a": "\xff"}', "line 2: Not UTF-8."),
        (b"[" * 100_000, "Nested too deeply."),
    ],
)
def test_what_is_no_json_is_reported(content: bytes, complaint: str) -> None:
    with pytest.raises(InvalidRules, match=r".") as refused:
        read_rules(content)

    assert str(refused.value) == complaint


def test_every_error_is_reported_with_its_line() -> None:
    with pytest.raises(InvalidRules) as refused:
        read_rules(changed(cm_to_mm_multiplier=0, backingThicknesses=[3, "4"], file_error="none").encode())

    assert [part.partition(".")[0] for part in str(refused.value).split("line ")[1:]] == [
        "2: cm_to_mm_multiplier: Expected a number above 0, up to 10,000",
        "10: backingThicknesses",
        "47: file_error: Unknown field",
    ]


def test_a_file_saved_by_windows_notepad_is_read() -> None:
    assert read_rules(b"\xef\xbb\xbf" + changed().replace("\n", "\r\n").encode()).retry_count_max == 3


def test_what_the_factory_may_leave_out_has_a_default() -> None:
    short = {key: value for key, value in SHIPPED.items() if key not in ("xml_expected", "ackMode", "mergePolicy")}

    assert read_rules(json.dumps(short).encode()).xml_expected == "job"


def test_many_threads_read_one_truth(rules_file: Path, in_threads: Callable[..., list[Any]]) -> None:
    current_rules()
    rules_file.write_text(changed(retry_count_max=1))

    found = in_threads(lambda _: current_rules().retry_count_max, count=8)

    assert found == [1] * 8
