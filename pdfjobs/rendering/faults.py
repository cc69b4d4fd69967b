"""What can go wrong on the way to a PDF."""


class RenderFault(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """A render that gave no PDF: a code for machines, words for the operator."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


class OptionsFault(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """Page options that make no sense; each fault is named by its path."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults
