"""The template's contract (ORC-13)."""

from pathlib import Path


def check_template(path: Path) -> None:
    """Raise E_TEMPLATE_INVALID with the reason, unless the template is what OptiPlanning expects."""
    raise NotImplementedError
