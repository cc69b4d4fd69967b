from collections.abc import Iterator

import pytest

from kilit.problems import registry
from kilit.problems.registry import Problem, ProblemSource
from tests.support.alerts import JsonReceiver, MailServer


@pytest.fixture
def problems(monkeypatch) -> list[Problem]:
    """What is wrong, for everyone: the test decides."""
    found: list[Problem] = []
    monkeypatch.setattr(registry, "sources", [ProblemSource(lambda _user: found)])
    return found


@pytest.fixture
def mail_server(settings) -> Iterator[MailServer]:
    server = MailServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    yield server
    server.stop()


@pytest.fixture
def receiver() -> Iterator[JsonReceiver]:
    server = JsonReceiver()
    yield server
    server.stop()
