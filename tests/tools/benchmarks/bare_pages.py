"""The other side of the PDF figures, in a process of its own: one browser, one page, and nothing around it.

Reads lines from stdin: the path of a file with HTML pages as JSON; answers each with how many seconds each page took.
`bare_pages.py weasyprint` does the same with WeasyPrint. Of the product it knows nothing but the fonts' configuration.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Print = Callable[[str], bytes]


@contextmanager
def playwright_page(executable: str) -> Iterator[Print]:
    """Print on one page that is never closed, as tutorials do."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable)
        page = browser.new_page()

        def show(html: str) -> bytes:
            page.set_content(html)
            return page.pdf(format="A4", print_background=True)

        yield show
        browser.close()


@contextmanager
def weasyprint(_: str) -> Iterator[Print]:
    """Print with WeasyPrint, whose fonts are kept from page to page."""
    from weasyprint import HTML  # type: ignore[import-not-found]
    from weasyprint.text.fonts import FontConfiguration  # type: ignore[import-not-found]

    fonts = FontConfiguration()
    yield lambda html: bytes(HTML(string=html).write_pdf(font_config=fonts))


def main() -> None:
    """Answer until the other end is closed."""
    kind, executable = sys.argv[1:]
    with {"playwright": playwright_page, "weasyprint": weasyprint}[kind](executable) as show:
        for line in sys.stdin:
            took = []
            for html in json.loads(Path(line.strip()).read_text()):
                start = time.perf_counter()
                if not show(html).startswith(b"%PDF"):
                    raise SystemExit("no PDF came out")
                took.append(time.perf_counter() - start)
            sys.stdout.write(json.dumps(took) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
