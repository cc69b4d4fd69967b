"""What all queues share: the lock at the bottom, the console at the top."""

__version__ = "0.2.0"  # the only place; pyproject.toml reads it


def product_version(build: str) -> str:
    return f"Kilit {__version__} ({build})" if build else f"Kilit {__version__}"
