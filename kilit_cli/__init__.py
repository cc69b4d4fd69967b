"""`kilit`, the command line: asks a Kilit server over its REST API, and imports nothing of it."""

__version__ = "1.0.0"  # the only place; pyproject.toml beside it reads it
