"""`make up` says why it cannot listen on its port."""

import errno
import socket

import pytest
from django.core.management.base import CommandError

from config.management.commands.up import check_port
from tests.support.commands import free_port


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EACCES, "You have no permission to listen on port 80; choose one from 1024: PORT=8000 make up"),
        (errno.EADDRINUSE, "Port 80 is in use; choose another one: PORT=81 make up"),
        (
            errno.EADDRNOTAVAIL,
            "127.0.0.1 is not an address of this machine; use one that it has: HOST=127.0.0.1 make up",
        ),
    ],
)
def test_no_permission_is_not_called_in_use(monkeypatch: pytest.MonkeyPatch, number: int, sentence: str) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(socket.socket, "bind", refuse)

    with pytest.raises(CommandError) as error:
        check_port("127.0.0.1", 80)
    assert str(error.value) == sentence


def test_a_name_that_nobody_knows_is_said_to_be_one() -> None:
    with pytest.raises(CommandError) as error:
        check_port("no-such-name.invalid", 8000)

    assert str(error.value) == (
        "HOST=no-such-name.invalid is not the name of an IPv4 address; "
        "use an address of this machine: HOST=127.0.0.1 make up"
    )


def test_an_address_of_another_machine_is_said_to_be_one() -> None:
    with pytest.raises(CommandError, match=r"^192\.0\.2\.1 is not an address of this machine"):
        check_port("192.0.2.1", 8000)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_a_port_of_ipv6_is_tried_as_such() -> None:
    port = free_port()
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        with pytest.raises(CommandError, match=f"^Port {port} is in use"):
            check_port("::1", port)
        check_port("127.0.0.1", port)
