"""A browser for all tests here, the demo's rows on a live server, and one visitor per test."""

from tests.support.fixtures.browser import browser, house, visitor

__all__ = ["browser", "house", "visitor"]
