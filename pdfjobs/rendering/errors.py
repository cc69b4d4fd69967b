"""Errors of rendering."""


class RenderError(Exception):
    """No PDF: a code for callers and details for operators."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail
