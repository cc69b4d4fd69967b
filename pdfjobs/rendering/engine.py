"""Which Chromium renders, and how it is started."""


def engine_version() -> str:
    """Return what decides the bytes besides the document: the browser's version and our own revision."""
    raise NotImplementedError


def sandbox_warning() -> str | None:
    """Return words for the operator when Chromium runs without its sandbox."""
    raise NotImplementedError
