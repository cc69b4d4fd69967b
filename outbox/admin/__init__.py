"""The outbox in the console."""
