"""The embedded PostgreSQL, for installations without DATABASE_URL."""
