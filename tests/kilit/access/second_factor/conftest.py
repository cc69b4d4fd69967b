import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.second_factors import enter_password


@pytest.fixture(autouse=True)
def _second_factor_is_allowed(settings) -> None:
    settings.SECOND_FACTOR = "allowed"


@pytest.fixture
def browser(ayse: User) -> Client:
    """A browser of a user without a second factor, who has entered the password."""
    client = Client()
    enter_password(client)
    return client
