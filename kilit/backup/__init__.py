"""Backup and restore: the database and the files its rows speak of, as they were at one moment."""
