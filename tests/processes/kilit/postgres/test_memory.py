"""How much memory the embedded PostgreSQL takes for its pages."""

from pathlib import Path

import pytest

from kilit import memory
from kilit.postgres import server
from tests.support.postgres import Start

GB = 2**30


@pytest.mark.parametrize(
    ("machine", "limit", "expected"),
    [
        (24 * GB, None, "1024MB"),
        (6 * GB, "max\n", "768MB"),
        (24 * GB, str(4 * GB), "512MB"),
        (2 * GB, str(4 * GB), "256MB"),
        (GB // 2, None, "128MB"),
        (512 * GB, None, "1024MB"),
    ],
)
def test_it_is_an_eighth_of_what_there_is(
    machine: int, limit: str | None, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "memory.max"
    if limit is not None:
        place.write_text(limit)
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", place)
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PHYS_PAGES": machine // 4096, "SC_PAGE_SIZE": 4096}.get)

    assert server.shared_buffers() == expected
    assert memory.is_small() == (expected == "128MB")


def test_a_server_that_is_made_has_it(nowhere: Path, start: Start) -> None:
    said = start(nowhere).ask("SELECT pg_size_bytes(current_setting('shared_buffers')) / 2 ^ 20")

    assert f"{float(said):.0f}MB" == server.shared_buffers()
