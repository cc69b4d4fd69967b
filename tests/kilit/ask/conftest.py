"""Two sites and four keys."""

import pytest

from tests.support.api import Api
from tests.support.ask import AskWorld, make_world


@pytest.fixture
def world(db) -> AskWorld:
    return make_world()


@pytest.fixture
def asks(world):
    """Ask with the key of a kind, and return the answer's status and body."""

    def ask(kind: str, verb: str, body: object = None) -> tuple[int, dict]:
        answer = Api(world.keys[kind]).post(f"ask/{verb}", {} if body is None else body)
        return answer.status_code, answer.json()

    return ask
