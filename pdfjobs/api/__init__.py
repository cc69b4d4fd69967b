"""The REST API of the PDF queue."""
