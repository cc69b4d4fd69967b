"""The version and the build are shown where people look for them."""

import re

import pytest
from django.test import Client

import kilit

pytestmark = pytest.mark.django_db


def test_pages_of_the_console_end_with_the_version(admin_client: Client, settings) -> None:
    settings.BUILD = "1a2b3c4"

    assert f"Kilit {kilit.__version__} (1a2b3c4)" in admin_client.get("/admin/").content.decode()


def test_strangers_do_not_see_the_version_on_the_login_page(settings) -> None:
    settings.BUILD = "1a2b3c4"

    assert "1a2b3c4" not in Client().get("/admin/login/").content.decode()


@pytest.mark.parametrize(("build", "text"), [("", ""), ("1a2b3c4", " (1a2b3c4)")])
def test_a_build_that_is_not_known_is_left_out(build: str, text: str) -> None:
    assert kilit.product_version(build) == f"Kilit {kilit.__version__}{text}"
    assert re.fullmatch(r"\d+\.\d+\.\d+", kilit.__version__)
