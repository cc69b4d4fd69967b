"""Pages for the renderer, and its browser process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psutil
import pytest
from playwright.async_api import CDPSession

from pdfjobs.rendering import renderer

MADE_AT = datetime(2026, 11, 15, 4, 22, 7, tzinfo=UTC)


PAGE = '<html lang="tr"><head><title>Örnek</title></head><body><h1>Merhaba ğüşıİöç</h1></body></html>'


def current_browser() -> psutil.Process | None:
    """Return the process of this process's browser."""
    return renderer._renderer.browser_manager.browser if renderer._renderer else None


@contextmanager
def when_printing(do: Callable[[], object]) -> Iterator[None]:
    """Let something happen to the browser after a page was shown, and before it is printed."""
    send = CDPSession.send

    async def done_before(self: CDPSession, method: str, params: dict[str, Any] | None = None) -> Any:
        if method == "Page.printToPDF":
            do()
        return await send(self, method, params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CDPSession, "send", done_before)
        yield
