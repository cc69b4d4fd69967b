"""The browser, the demo and the visitor of the console's own tests."""

from tests.support.fixtures.browser import browser, house, visitor

__all__ = ["browser", "house", "visitor"]
