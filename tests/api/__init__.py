"""The API as its schema tells it."""
