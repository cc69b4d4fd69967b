"""The committed OpenAPI document is the one that the command writes."""

from tests.support.commands import ROOT, manage


def test_the_committed_schema_is_the_one_the_code_makes(tmp_path) -> None:
    """It validates without a warning; after a change run `manage.py spectacular --file docs/openapi.yaml`."""
    made = tmp_path / "openapi.yaml"

    ended = manage("spectacular", "--validate", "--fail-on-warn", "--file", str(made), KILIT_VAR=str(tmp_path))

    assert ended.returncode == 0, ended.stderr
    assert made.read_text() == (ROOT / "docs" / "openapi.yaml").read_text()
