"""The database backend for the server of DATABASE_URL; the embedded server's backend builds on it."""
