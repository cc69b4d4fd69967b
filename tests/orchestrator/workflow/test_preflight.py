"""Looking things over before a job needs them, and where the folders are."""

import json
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.demo import simulators_command
from orchestrator.folders import Folders, read_command, split
from orchestrator.optiplanning.adapters import has_excel, run_optiplanning
from orchestrator.workflow import preflight as preflight_module
from orchestrator.workflow.preflight import CheckLevel, PreflightCheck, preflight, run_checks
from tests.support.cutting_rules import SHIPPED
from tests.support.waiting import PATIENCE


def found(name: str) -> tuple[CheckLevel, str]:
    (check,) = (check for check in preflight() if check.name == name)
    return check.level, check.message


def test_a_floor_in_order_passes(floor: Folders, settings: Any) -> None:
    settings.OPTI_COMMAND = json.dumps([sys.executable, "-V"])

    checks = preflight()

    assert {check.name: check.level for check in checks} == {
        "import folder": "PASS",
        "export folder": "PASS",
        "saw inbox folder": "PASS",
        "saw processed folder": "PASS",
        "saw failed folder": "PASS",
        "template": "PASS",
        "rules": "PASS",
        "mode A command": "PASS",
        "mode B macro": "WARN",
    }
    assert [path for folder in floor.all().values() for path in folder.iterdir()] == []


def test_mode_b_is_simulated_where_the_simulator_runs(floor: Folders, settings: Any) -> None:
    settings.OPTI_SIMULATED = True

    level, message = found("mode B macro")

    assert level == CheckLevel.SIMULATED
    assert "will fail" not in message
    assert run_optiplanning("B", [], plate={}, keep_alive=lambda: None, time_limit=timedelta(seconds=1)) is None


def test_a_folder_elsewhere_that_is_missing_fails_and_is_not_made(
    floor: Folders, settings: Any, tmp_path: Path
) -> None:
    settings.KILIT_VAR = tmp_path / "var"
    settings.OPTI_EXPORT_FOLDER = tmp_path / "share" / "export"

    assert found("export folder") == (CheckLevel.FAIL, f"{tmp_path}/share/export: No such file or directory.")
    assert not (tmp_path / "share").exists()


def test_a_folder_that_cannot_be_written_fails(floor: Folders, mounted: Any) -> None:
    mounted(floor.inbox, "ro")

    assert found("saw inbox folder") == (CheckLevel.FAIL, f"{floor.inbox}: Read-only file system.")


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_file_in_place_of_a_folder_fails(floor: Folders, settings: Any, tmp_path: Path, is_ours: bool) -> None:
    settings.KILIT_VAR = settings.KILIT_VAR if is_ours else tmp_path / "var"
    floor.export.rmdir()
    floor.export.write_text("")

    assert found("export folder") == (CheckLevel.FAIL, f"{floor.export}: Not a directory.")


def test_little_space_is_reported(floor: Folders, mounted: Any) -> None:
    mounted(floor.export)

    assert found("export folder")[0] == CheckLevel.PASS
    assert found("export space") == (CheckLevel.FAIL, f"{floor.export}: 0 MB free.")


def test_a_broken_template_fails(floor: Folders, settings: Any, tmp_path: Path) -> None:
    settings.OPTI_TEMPLATE = tmp_path / "none.xlsx"

    level, message = found("template")

    assert level == CheckLevel.FAIL
    assert "cannot be read" in message


def test_broken_rules_fail_with_the_line(floor: Folders, rules_file: Path) -> None:
    assert found("rules")[0] == CheckLevel.PASS

    rules_file.write_text("{\n,}")
    level, message = found("rules")

    assert level == CheckLevel.FAIL
    assert message.startswith("rules.json: line 2: ")
    assert message.endswith("This process still uses the last valid rules.")


def test_rules_that_never_were_good_fail(floor: Folders, rules_file: Path) -> None:
    rules_file.unlink()

    assert found("rules") == (
        CheckLevel.FAIL,
        "There are no valid rules. rules.json: cannot be read: No such file or directory.",
    )
    assert found("mode A command")[0] == CheckLevel.WARN


def test_rules_without_a_plate_warn(floor: Folders, rules_file: Path) -> None:
    rules_file.write_text(json.dumps({**SHIPPED, "defaultPlateSize": None}))

    assert found("default plate")[0] == CheckLevel.WARN


@pytest.mark.parametrize(("default", "level"), [("A", CheckLevel.FAIL), ("C", CheckLevel.WARN)])
def test_a_missing_command_fails_where_it_is_the_default(
    floor: Folders, settings: Any, rules_file: Path, default: str, level: CheckLevel
) -> None:
    settings.OPTI_COMMAND = ""
    rules_file.write_text(json.dumps({**SHIPPED, "optiModeDefault": default}))

    assert found("mode A command") == (level, "KILIT_OPTI_COMMAND is not set. Orders in mode A will fail.")


def test_mode_a_with_the_simulator_is_simulated(floor: Folders, settings: Any) -> None:
    settings.OPTI_COMMAND = simulators_command()

    assert found("mode A command") == (
        CheckLevel.SIMULATED,
        "The simulator takes the place of OptiPlanning: orders in mode A work, but are not optimized.",
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ()),
        ("opti --quiet", ("opti", "--quiet")),
        ("'/opt/Opti Planning/run' -x", ("/opt/Opti Planning/run", "-x")),
        ('["C:\\\\Opti Planning\\\\opti.exe", "/q"]', ("C:\\Opti Planning\\opti.exe", "/q")),
        ('["a", ""]', ()),
        ("[broken", ()),
        ("a 'b", ()),
    ],
)
def test_a_command_is_words_or_a_json_array(line: str, words: tuple[str, ...]) -> None:
    assert read_command(line) == words


def test_on_windows_quotes_are_no_part_of_a_path() -> None:
    line = r'"C:\Opti Planning\opti.exe" /q C:\in'

    assert split(line, posix=False) == [r"C:\Opti Planning\opti.exe", "/q", r"C:\in"]


def test_folders_below_var_are_made_and_no_others(settings: Any, tmp_path: Path) -> None:
    settings.KILIT_VAR = tmp_path / "var"
    folders = Folders(tmp_path / "var" / "in", tmp_path / "share", tmp_path / "var" / "saw", tmp_path / "t.xlsx")

    folders.prepare()

    assert folders.imports.is_dir()
    assert folders.inbox.is_dir()
    assert not folders.export.exists()


@pytest.mark.parametrize("is_registered", [True, False])
def test_excel_is_looked_up_in_the_registry_without_starting_it(monkeypatch, is_registered) -> None:
    def open_key(root: str, name: str) -> str:
        assert (root, name) == ("classes", "Excel.Application")
        if not is_registered:
            raise FileNotFoundError(2, "The system cannot find the file specified")
        return "key"

    registry = SimpleNamespace(HKEY_CLASSES_ROOT="classes", OpenKey=open_key, CloseKey=str)
    monkeypatch.setitem(sys.modules, "winreg", registry)

    assert has_excel() == is_registered


@pytest.fixture
def dead_share(floor: Folders, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Let the export folder answer nothing until the test is over; note each try."""
    release, tries, probe = threading.Event(), [], preflight_module._not_writable

    def hang(folder: Path) -> str | None:
        if folder == floor.export:
            tries.append(folder)
            release.wait(PATIENCE)
        return probe(folder)

    monkeypatch.setattr(preflight_module, "_not_writable", hang)
    yield tries
    release.set()
    preflight_module._running["export folder"].join()


@pytest.mark.django_db
def test_the_page_of_the_rules_answers_beside_a_dead_share_which_is_tried_once(
    admin_client: Any, dead_share: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(run_checks.__kwdefaults__, "limit", 0.5)

    pages = [
        admin_client.get("/admin/orchestrator/rulesversion/", headers={"accept-language": each})
        for each in ["en", "tr", "en"]
    ]

    assert "No answer within 0.5 seconds." in pages[0].text
    assert [page.status_code for page in pages] == [200] * 3
    assert len(dead_share) == 1


def test_a_check_that_answers_again_is_run_again() -> None:
    release, calls = threading.Event(), []

    def hang() -> list[PreflightCheck]:
        calls.append(1)
        release.wait(PATIENCE)
        return [PreflightCheck("share", CheckLevel.PASS, "It is back.")]

    def look(limit: float = 0.01) -> list[str]:
        return [result.message for result in run_checks(lambda: {"share": hang}, limit=limit)]

    assert look() == look() == ["No answer within 0.01 seconds."]
    release.set()
    preflight_module._running["share"].join()

    assert len(calls) == 1
    assert look(limit=30) == ["It is back."]


def test_an_error_in_a_check_is_its_result() -> None:
    def fail() -> list[PreflightCheck]:
        raise ValueError("no such thing\nin detail")

    result = PreflightCheck("odd", CheckLevel.FAIL, "ValueError: no such thing")
    assert run_checks(lambda: {"odd": fail}) == [result]
