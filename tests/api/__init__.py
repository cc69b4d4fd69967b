"""The API as its schema tells it (CON-15)."""
