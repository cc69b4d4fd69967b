import pytest


@pytest.fixture(autouse=True)
def _second_factor_is_allowed(settings) -> None:
    settings.SECOND_FACTOR = "allowed"
