"""The command line in this process, with a home of its own and a wide screen, and keys of a running server."""

from collections.abc import Callable
from typing import Any

import pytest

from kilit.access.models import ApiKey
from kilit_cli import output
from tests.support.command_line import CommandLine
from tests.support.fixtures.conversions import make_site, site
from tests.support.people import make_user

__all__ = ["make_site", "site"]


@pytest.fixture
def kilit(capsys, monkeypatch, tmp_path) -> CommandLine:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(output.out, "width", 200)
    for name in ("KILIT_URL", "KILIT_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("kilit_cli.api.LONGEST_PAUSE", 0)
    return CommandLine(capsys, monkeypatch)


@pytest.fixture
def log_in(kilit, live_server, site) -> Callable[..., CommandLine]:
    """Use a key of an operator of the site, or of another role, with some scopes only."""

    def use(*scopes: str, role: str = "operator", **columns: Any) -> CommandLine:
        user = make_user(role=role, sites={site: role}, **columns)
        options = {"scopes": scopes} if scopes else {}
        kilit.use(live_server.url, ApiKey.objects.issue(user, name="laptop", **options)[1])
        return kilit

    return use
