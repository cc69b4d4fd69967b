"""Runs a private PostgreSQL for installations that have no DATABASE_URL."""
