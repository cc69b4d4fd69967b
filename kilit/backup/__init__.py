"""Backup and restore: the database and the files of its rows, at one point in time."""
