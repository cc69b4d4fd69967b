"""The REST API of webhook endpoints and messages."""
