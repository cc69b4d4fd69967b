"""`manage.py version` is about Kilit and not about Django."""

from pathlib import Path

import pytest

from kilit import product_version
from tests.support.commands import manage


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_the_command_line_says_the_version(tmp_path: Path, argument: str) -> None:
    ended = manage(argument, KILIT_VAR=str(tmp_path), KILIT_BUILD="1a2b3c4")

    assert (ended.stdout, ended.stderr) == (f"{product_version('1a2b3c4')}\n", "")
