"""The API against its schema."""
