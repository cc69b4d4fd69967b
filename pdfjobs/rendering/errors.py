"""Errors of rendering."""

# Details that begin like this are about the caller's request, not about the template.
MISSING_PAGES = "The document does not have the requested pages"
TOO_LARGE = "The document has more than"


class RenderError(Exception):
    """No PDF: a code for callers and details for operators."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail
