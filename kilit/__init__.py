"""What all queues share: the lock at the bottom, the console at the top."""

__version__ = "0.1.0"  # the only place; pyproject.toml reads it
