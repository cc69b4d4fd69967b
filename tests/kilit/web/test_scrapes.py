"""The text of /metrics is kept for a while, and computed by one thread at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kilit.web import metrics
from kilit.web.metrics import MetricsBusyError, ScrapeCache
from tests.support.waiting import PATIENCE


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class SlowText:
    """A text that is computed when the test says so."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.computed = 0

    def __call__(self) -> bytes:
        self.computed += 1
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return f"text {self.computed}".encode()


def test_a_text_is_computed_again_when_it_is_too_old() -> None:
    clock, texts = Clock(), iter([b"one", b"two"])
    cache = ScrapeCache(lambda: next(texts), clock=clock)

    first = cache.read(max_age=5)
    clock.now += 4
    second = cache.read(max_age=5)
    clock.now += 2
    third = cache.read(max_age=5)

    assert [first, second, third] == [(b"one", 0), (b"one", 4), (b"two", 0)]


@contextmanager
def computing(text: SlowText, *, age: float | None) -> Iterator[ScrapeCache]:
    """Let a thread compute the text again; the last one, if there is one, is so many seconds old."""
    clock = Clock()
    cache = ScrapeCache(text, clock=clock)
    if age:
        text.go_on.set()
        cache.read(max_age=5)
        text.go_on.clear()
        text.begun.clear()
        clock.now += age
    thread = threading.Thread(target=lambda: cache.read(max_age=5))
    thread.start()
    assert text.begun.wait(PATIENCE)
    try:
        yield cache
    finally:
        text.go_on.set()
        thread.join(PATIENCE)


def test_while_one_thread_computes_others_get_the_last_text() -> None:
    text = SlowText()

    with computing(text, age=10) as cache:
        meanwhile = [cache.read(max_age=5) for _ in range(300)]

    assert meanwhile == [(b"text 1", 10)] * 300
    assert cache.read(max_age=5).text == b"text 2"
    assert text.computed == 2


@pytest.mark.parametrize("age", [None, metrics.STALE_AFTER + 1])
def test_without_a_recent_text_others_wait_a_moment_and_are_refused(monkeypatch, age: float | None) -> None:
    monkeypatch.setattr(metrics, "PATIENCE", 0.01)

    with computing(SlowText(), age=age) as cache, pytest.raises(MetricsBusyError):
        cache.read(max_age=5)


def test_a_failure_is_not_kept() -> None:
    results = iter([RuntimeError("no database"), b"text"])

    def compute() -> bytes:
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    cache = ScrapeCache(compute)

    with pytest.raises(RuntimeError):
        cache.read(max_age=5)
    assert cache.read(max_age=5).text == b"text"
