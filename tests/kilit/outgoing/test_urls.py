"""Which URLs a webhook may have."""

import pytest

from kilit.outgoing.urls import InvalidUrl, Target, parse_url


def test_a_url_is_taken_apart() -> None:
    target = parse_url("https://Hooks.Example:8443/kilit?shop=7#top")

    assert target == Target("https", "hooks.example", 8443, "Hooks.Example:8443", "/kilit?shop=7")
    assert parse_url("http://hooks.example") == Target("http", "hooks.example", 80, "hooks.example", "/")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "Enter an http or https URL"),
        ("hooks.example", "Enter an http or https URL"),
        ("//hooks.example/", "Enter an http or https URL"),
        ("file:///etc/passwd", "Enter an http or https URL"),
        ("gopher://hooks.example/", "Enter an http or https URL"),
        ("https://hooks.example/a b", "Enter an http or https URL"),
        ("https://hooks.example/a\nb", "Enter an http or https URL"),
        ("https://hooks.example\\@10.0.0.1/", "Enter an http or https URL"),
        ("https://örnek.example/", "Enter an http or https URL"),
        ("https://①②⑦.⓪.⓪.①/", "Enter an http or https URL"),
        ("https://user:pass@hooks.example/", "user name or password"),
        ("https://hooks.example@10.0.0.1/", "user name or password"),
        ("https://@hooks.example/", "user name or password"),
        ("https://hooks.example./", "host or the port"),
        ("https://.example/", "host or the port"),
        ("https://[fe80::1%25eth0]/", "host or the port"),
        ("https://[::1", "host or the port"),
        ("https://hooks.example:0/", "host or the port"),
        ("https://hooks.example:99999/", "host or the port"),
        ("https://:443/", "host or the port"),
        ("https://hooks.example/" + "a" * 2000, "at most 2000 characters"),
    ],
)
def test_what_is_wrong_with_a_url_is_said(url: str, sentence: str) -> None:
    with pytest.raises(InvalidUrl, match=sentence):
        parse_url(url)
