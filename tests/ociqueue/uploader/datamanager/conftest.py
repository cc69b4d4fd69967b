"""A Data Manager site with a login at a server on loopback, and the real HTTP in between."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from django.db.models.functions import Now

from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.adjustment import MODELS_BY_QUEUE
from ociqueue.states import SyncMethod
from ociqueue.uploader.datamanager import provider
from ociqueue.uploader.datamanager.provider import DataManager
from ociqueue.uploader.providers import PROVIDERS
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.fixtures.datamanager import _data_manager, data_manager, dm_site, let_time_pass, make_dm_site
from tests.support.fixtures.uploads import _google, google, make_rows
from tests.support.later_provider import GOOGLE, LaterGoogle, make_due

__all__ = [
    "_data_manager",
    "_google",
    "data_manager",
    "dm_site",
    "google",
    "let_time_pass",
    "make_dm_site",
    "make_rows",
]


def stand_in_for(name: str) -> dict[str, str]:
    return dict.fromkeys(MODELS_BY_QUEUE, f"tests.support.later_provider.{name}")


@pytest.fixture
def stand_in() -> LaterGoogle:
    """What the stand-ins were sent, empty at first."""
    fresh = LaterGoogle()
    for each in fields(LaterGoogle):
        setattr(GOOGLE, each.name, getattr(fresh, each.name))
    return GOOGLE


@pytest.fixture
def later(stand_in: LaterGoogle, monkeypatch: pytest.MonkeyPatch) -> LaterGoogle:
    """Data Manager sites send to a stand-in that takes everything and confirms it, until the test says otherwise."""
    monkeypatch.setitem(PROVIDERS, SyncMethod.DATA_MANAGER, stand_in_for("LaterStandIn"))
    return stand_in


@pytest.fixture
def at_once(stand_in: LaterGoogle, monkeypatch: pytest.MonkeyPatch) -> LaterGoogle:
    """Sites of the Google Ads API send to a stand-in that accepts everything."""
    monkeypatch.setitem(PROVIDERS, SyncMethod.API, stand_in_for("AtOnceStandIn"))
    return stand_in


@pytest.fixture
def senders(later: LaterGoogle, at_once: LaterGoogle) -> LaterGoogle:
    """Both, so that a site can use every sender."""
    return at_once


@pytest.fixture
def uploaded(
    later: LaterGoogle, dm_site: Site, make_rows: Callable[..., list[Conversion]]
) -> Callable[..., list[Conversion]]:
    """Send rows, so that they wait for the verdict, which is due."""

    def send(*clicks: str) -> list[Conversion]:
        rows = make_rows(dm_site, *clicks)
        upload_due()
        make_due()
        return rows

    return send


Work = Callable[..., None]


@pytest.fixture
def work(let_time_pass: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> Work:
    """Upload and ask, so often; between two turns as much time passes as each of them needs."""
    for quota, name in ((DataManager, "can_send"), (DataManager, "can_ask"), (provider, "wait_to_send")):
        monkeypatch.setattr(quota, name, lambda *_, **__: True)

    def run(times: int = 1) -> None:
        for _ in range(times):
            for model in (Conversion, Adjustment):
                model.objects.filter(status="RETRY").update(next_retry_at=Now())
            upload_due()
            let_time_pass()
            ask_for_verdicts()

    return run


@pytest.fixture
def sold(data_manager: Any, dm_site: Site, make_rows: Callable[..., list[Conversion]], work: Work) -> Conversion:
    """A conversion of 120 TRY that Google has confirmed."""
    (row,) = make_rows(dm_site, "click-1")
    work()
    row.refresh_from_db()
    assert row.status == "COMPLETED"
    return row
