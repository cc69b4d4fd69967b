"""System checks of the PDF queue's settings."""

import pytest

from pdfjobs import checks


def ids(found: list) -> list[str]:
    return [message.id for message in found]


def test_good_settings_are_silent() -> None:
    assert (
        ids(
            [*checks.check_asset_patterns(), *checks.check_fonts(), *checks.check_templates(), *checks.check_timeouts()]
        )
        == []
    )


def test_a_pattern_that_cannot_be_read(settings) -> None:
    settings.PDF_ASSET_PATTERNS = [r"https://cdn\.example/.*", "https://("]

    (found,) = checks.check_asset_patterns()

    assert (found.id, "'https://('" in found.msg) == ("kilit.E004", True)


def test_a_folder_without_fonts(settings, tmp_path) -> None:
    settings.PDF_FONTS = [str(tmp_path)]

    (warning,) = checks.check_fonts()

    assert (warning.id, warning.msg) == ("kilit.W010", f"The folder '{tmp_path}' has no fonts.")


def test_an_unknown_template(settings) -> None:
    settings.PDF_TEMPLATES = ["invoice", "invocie"]

    assert ids(checks.check_templates()) == ["kilit.W004"]


def test_a_task_timeout_that_cuts_jobs_short(settings) -> None:
    settings.TASK_TIMEOUT = 74

    (found,) = checks.check_timeouts()

    assert (found.id, found.msg) == ("kilit.W005", "PDF jobs are ended after 59 s, even if their caller allows more.")


@pytest.mark.parametrize(("is_on", "warned"), [(True, []), (False, ["kilit.W006"])])
def test_a_browser_without_its_sandbox(settings, is_on: bool, warned: list[str]) -> None:
    settings.PDF_SANDBOX = is_on

    assert ids(checks.check_sandbox()) == warned
