"""Finding the headless Chromium, or reporting that there is none."""

from pathlib import Path

import pytest
from django.core.management import call_command

from pdfjobs import browser


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_machine(monkeypatch, tmp_path: Path) -> Path:
    """A machine without any browser, and without the right to install one."""
    monkeypatch.delenv("KILIT_CHROMIUM", raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.setattr(browser.shutil, "which", lambda _: None)
    monkeypatch.setattr(browser, "_run", lambda *_: None)
    return tmp_path


def test_the_browser_named_wins(monkeypatch, bare_machine: Path) -> None:
    named = executable(bare_machine / "mine")
    executable(bare_machine / "chromium_headless_shell-1" / "chrome-linux" / "headless_shell")
    monkeypatch.setenv("KILIT_CHROMIUM", str(named))

    assert browser.find_browser() == named


def test_a_browser_named_but_missing_is_none(monkeypatch, bare_machine: Path) -> None:
    monkeypatch.setenv("KILIT_CHROMIUM", str(bare_machine / "gone"))

    assert browser.find_browser() is None


@pytest.mark.parametrize("name", ["headless_shell", "chrome-headless-shell"])
def test_playwrights_newest_is_found(bare_machine: Path, name: str) -> None:
    executable(bare_machine / "chromium_headless_shell-1100" / "chrome-linux" / name)
    newest = executable(bare_machine / "chromium_headless_shell-1254" / "chrome-linux" / name)

    assert browser.find_browser() == newest


def test_without_one_the_product_says_that_pdfs_are_off(bare_machine: Path, capsys) -> None:
    call_command("browser")

    assert "PDFs are disabled; everything else works" in capsys.readouterr().out
    assert browser.install_browser() is None


def test_root_reads_of_packages_before_they_are_installed(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    command, printed = "pdfjobs.management.commands.browser", []
    monkeypatch.setattr(f"{command}.find_browser", lambda: None)
    monkeypatch.setattr(f"{command}.may_install_packages", lambda: True)
    monkeypatch.setattr(f"{command}.install_browser", lambda: printed.append(capsys.readouterr().out))

    call_command("browser")

    assert "apt-get installs Debian's chromium-headless-shell, as you are root." in printed[0]
