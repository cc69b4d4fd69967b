"""Which addresses may be connected to."""

import ipaddress

import pytest

from kilit.outgoing.addresses import is_public, public_or_in


@pytest.mark.parametrize(
    ("host", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address to refuse
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("203.0.113.9", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        # Set aside by a standard. What Python calls global depends on its version; these must never count as public.
        ("192.0.0.8", False),
        ("192.0.0.192", False),
        ("192.88.99.1", False),
        ("fec0::1", False),
        ("3fff::1", False),
        ("5f00::1", False),
        ("::ffff:192.0.0.192", False),
        ("::ffff:10.0.0.1", False),
        ("::10.0.0.1", False),
        ("64:ff9b::10.0.0.1", False),
        ("64:ff9b:1::a00:1", False),
        ("2002:a00:1::1", False),
        ("2001::f5ff:fffe", False),
        # Their neighbours.
        ("192.0.1.1", True),
        ("192.88.98.1", True),
        ("2001:4860:4860::8888", True),
        ("2a00:1450::1", True),
    ],
)
def test_which_addresses_are_public(host: str, public) -> None:
    assert is_public(host) is public


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("8.8.8.8", True),
        ("10.20.0.7", True),
        ("::ffff:10.20.0.7", True),
        ("fd00::7", True),
        ("10.21.0.7", False),
        ("127.0.0.1", False),
        ("::10.20.0.7", False),
        ("64:ff9b::10.20.0.7", False),
    ],
)
def test_only_the_networks_of_the_setting_are_allowed_besides(host: str, allowed) -> None:
    networks = [ipaddress.ip_network("10.20.0.0/16"), ipaddress.ip_network("fd00::/64")]

    assert public_or_in(networks)(host) is allowed
