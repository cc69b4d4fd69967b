"""What can go wrong on the way to a PDF."""


class RenderError(Exception):
    """A render that gave no PDF: a code for machines, words for the operator."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


class OptionsError(Exception):
    """Page options that make no sense; each fault is named by its path."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults
