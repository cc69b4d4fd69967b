"""A real browser, shared by the tests of this folder and closed after them."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

import psutil
import pytest
from pypdf import PdfReader

from pdfjobs import rendering
from pdfjobs.rendering import PageOptions, browser_manager
from tests.support.rendering import MADE_AT, PAGE, current_browser
from tests.support.waiting import PATIENCE


@pytest.fixture(scope="session", autouse=True)
def _closed_behind() -> Iterator[None]:
    yield
    rendering.close()


@pytest.fixture(autouse=True)
def _no_recycling(monkeypatch) -> None:
    """Do not recycle the browser: these tests look at its process."""
    monkeypatch.setattr(browser_manager, "RECYCLE_AFTER", 10**6)


@pytest.fixture
def to_pdf() -> Callable[..., bytes]:
    """Render as a worker does."""

    def run(*pages: str, seconds: float = PATIENCE, made_at: datetime = MADE_AT, **options: Any) -> bytes:
        return rendering.render(
            pages or [PAGE], PageOptions.read(options), made_at=made_at, hard_timeout=timedelta(seconds=seconds)
        )

    return run


@pytest.fixture
def to_reader(to_pdf: Callable[..., bytes]) -> Callable[..., PdfReader]:
    """Render, and read the PDF back with a strict parser."""

    def run(html: str = PAGE, **options: Any) -> PdfReader:
        return PdfReader(BytesIO(to_pdf(html, **options)), strict=True)

    return run


@pytest.fixture
def browser(to_pdf: Callable[..., bytes]) -> psutil.Process:
    """The browser that will render the next page."""
    to_pdf()
    found = current_browser()
    assert found
    return found
