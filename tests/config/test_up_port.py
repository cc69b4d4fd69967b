"""`make up` says why it cannot listen on its port."""

import errno
import socket

import pytest
from django.core.management.base import CommandError

from config.management.commands.up import check_port


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EACCES, "You have no permission to listen on port 80; choose one from 1024: PORT=8000 make up"),
        (errno.EADDRINUSE, "Port 80 is in use; choose another one: PORT=81 make up"),
    ],
)
def test_no_permission_is_not_called_in_use(monkeypatch: pytest.MonkeyPatch, number: int, sentence: str) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(socket.socket, "bind", refuse)

    with pytest.raises(CommandError) as error:
        check_port(80)
    assert str(error.value) == sentence
