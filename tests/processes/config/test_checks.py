"""The production example passes Django's deployment checks."""

from pathlib import Path

from tests.support.commands import ROOT, manage


def test_check_deploy_is_clean_with_the_production_example(tmp_path: Path) -> None:
    lines = (ROOT / ".env.production.example").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    ended = manage("check", "--deploy", "--fail-level", "WARNING", **{**variables, "KILIT_VAR": str(tmp_path)})

    assert ended.stderr == ""
    assert "no issues" in ended.stdout
