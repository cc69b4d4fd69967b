"""How much memory the embedded PostgreSQL takes for its pages."""

from pathlib import Path

import psycopg
import pytest

from kilit import memory
from kilit.postgres import server
from tests.support.commands import run_python
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


def test_a_small_server_has_small_buffers_whatever_its_data_were_made_with(folder: Path) -> None:
    small = server.Server(folder, is_small=True)
    address = small.ensure_running()
    try:
        with psycopg.connect(**address, dbname="postgres") as connection:
            assert connection.execute("SHOW shared_buffers").fetchone() == ("64MB",)
    finally:
        small.stop()


@pytest.mark.parametrize(("word", "numbers"), [("true", "1 1 1"), ("false", "2 2 5")])
def test_a_small_server_has_one_process_of_each_kind(word: str, numbers: str, tmp_path: Path) -> None:
    asked = (
        "from django.conf import settings\n"
        "print(settings.WEB_CONCURRENCY, settings.WORKERS, settings.PDF_BROWSER_IDLE.seconds // 60)"
    )

    said = run_python(
        "-c", asked, DJANGO_SETTINGS_MODULE="config.settings.server", KILIT_VAR=str(tmp_path), KILIT_SMALL=word
    )

    assert said.stdout.strip() == numbers
