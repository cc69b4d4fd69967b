"""Errors of rendering."""


class RenderError(Exception):
    """No PDF: a code for callers and details for operators."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


class OptionsError(Exception):
    """Invalid page options; each error starts with its path."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors
