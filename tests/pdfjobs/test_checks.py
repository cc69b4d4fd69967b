"""Settings of PDF jobs that would surprise somebody are told."""

import pytest

from pdfjobs import checks
from tests.support.commands import manage


def ids(found: list) -> list[str]:
    return [message.id for message in found]


def test_good_settings_are_silent() -> None:
    assert ids([*checks.check_asset_patterns(), *checks.check_templates(), *checks.check_timeouts()]) == []


def test_a_pattern_that_cannot_be_read(settings) -> None:
    settings.PDF_ASSET_PATTERNS = [r"https://cdn\.example/.*", "https://("]

    (found,) = checks.check_asset_patterns()

    assert (found.id, "'https://('" in found.msg) == ("kilit.E004", True)


def test_a_template_that_nobody_wrote(settings) -> None:
    settings.PDF_TEMPLATES = ["invoice", "invocie"]

    assert ids(checks.check_templates()) == ["kilit.W004"]


def test_a_task_timeout_that_cuts_jobs_short(settings) -> None:
    settings.TASK_TIMEOUT = 74

    (found,) = checks.check_timeouts()

    assert (found.id, found.msg) == ("kilit.W005", "PDF jobs are ended after 59 s, even when their caller allows more.")


@pytest.mark.parametrize(("is_on", "warned"), [(True, []), (False, ["kilit.W006"])])
def test_a_browser_without_its_sandbox(settings, is_on: bool, warned: list[str]) -> None:  # noqa: FBT001
    settings.PDF_SANDBOX = is_on

    assert ids(checks.check_sandbox()) == warned


def test_the_environment_chooses_the_bucket_and_the_templates(tmp_path) -> None:
    """PDF-5, PDF-9: `none` is the empty allowlist, because an empty variable is one that is not set."""
    ask = (
        "from django.conf import settings; from django.core.files.storage import storages; "
        "s = storages['artifacts']; "
        "print(s.bucket_name, s.endpoint_url, settings.PDF_TEMPLATES, settings.PDF_FAIL_SAFE)"
    )

    ended = manage(
        "shell",
        "--verbosity=0",
        f"--command={ask}",
        KILIT_VAR=str(tmp_path),
        KILIT_S3_BUCKET="pdfs",
        KILIT_S3_ENDPOINT="http://127.0.0.1:9000",
        KILIT_PDF_TEMPLATES="none",
        KILIT_PDF_FAIL_SAFE="degrade",
    )

    assert ended.stdout == "pdfs http://127.0.0.1:9000 [] degrade\n", ended.stderr
