"""Orders, customers, folders and people for the tests of panel cutting."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from kilit.access.models import ApiKey
from orchestrator.files.folders import Folders
from orchestrator.models import Customer, Job
from orchestrator.optiplanning import collecting
from orchestrator.orders.enqueue import enqueue
from orchestrator.orders.order import read_order

PHONE = "0555 123 45 67"
GOVDE = {
    "id": "g1",
    "part_type": "GOVDE",
    "material_code": "MAT-01",
    "length_cm": 120.5,
    "width_cm": 40,
    "quantity": 2,
    "grain": 1,
    "color": "Beyaz",
    "thickness_mm": 18,
    "edge_up": "1mm",
    "edge_lo": "1mm",
    "edge_sx": "040",
    "edge_dx": "Bant Yok",
}
ARKALIK = {
    "id": "a1",
    "part_type": "ARKALIK",
    "material_code": "MAT-02",
    "length_cm": 118,
    "width_cm": 38.25,
    "quantity": 1,
    "grain": 0,
    "color": "Beyaz",
    "thickness_mm": 5,
    "edge_up": "2mm",
}


def order_body(**changes: Any) -> dict[str, Any]:
    """Return an order with both part types, as an integrator sends it."""
    return {"order_id": "S-1001", "customer_phone": PHONE, "opti_mode": "A", "parts": [GOVDE, ARKALIK], **changes}


def make_job(**changes: Any) -> Job:
    """Store an order; of the same one there is only one job."""
    return enqueue(read_order(order_body(**changes), default_mode="C"))[0]


@pytest.fixture
def floor(tmp_path: Path, settings: Any) -> Folders:
    """Lay out a floor of this test's own: little time passes between two looks."""
    settings.FLOOR_POLL = 0.1
    settings.OPTI_IMPORT_FOLDER = tmp_path / "floor" / "import"
    settings.OPTI_EXPORT_FOLDER = tmp_path / "floor" / "export"
    settings.SAW_FOLDER = tmp_path / "floor" / "saw"
    folders = Folders.from_settings()
    for folder in folders.all().values():
        folder.mkdir(parents=True)
    return folders


@pytest.fixture
def at_rest_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take solutions without waiting until they are left alone."""
    monkeypatch.setattr(collecting, "STABLE_AFTER", timedelta(0))


@pytest.fixture
def customer() -> Customer:
    return Customer.objects.create(phone="+905551234567", name="Ayşe Yılmaz")


@pytest.fixture
def make_person() -> Callable[..., Client]:
    """Log a person in."""

    def make(role: str = "operator", username: str = "ayse") -> Client:
        user = User.objects.create_user(username, is_staff=True)
        user.groups.set(Group.objects.filter(name=role))
        client = Client()
        client.force_login(user)
        return client

    return make


class Api:
    """The API as a service with a key sees it."""

    def __init__(self, key: str | None = None) -> None:
        self.client = Client()
        self.headers = {"x-api-key": key} if key else {}

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/{path}", query, headers=self.headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.client.post(f"/{path}", body or {}, content_type="application/json", headers=self.headers)


@pytest.fixture
def make_api() -> Callable[..., Api]:
    """Give a service of a role a key."""

    def make(role: str | None = "operator") -> Api:
        user = User.objects.create_user(f"service-{role}")
        user.groups.set(Group.objects.filter(name=role))
        return Api(ApiKey.objects.issue(user, name="test")[1])

    return make


@pytest.fixture
def api(make_api) -> Iterator[Api]:
    return make_api()
