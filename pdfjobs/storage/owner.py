"""Whose folder in a bucket it is: several installations may share one.

A migration names the folder, and the name never changes. A copy of the database has the same one, so an object beside
the folder says which database uses it. A folder without that object belongs to the first one that asks.
"""

from kilit.database.sql import read_row

FOLDER = "SELECT name FROM pdfjobs_bucketfolder"
# Standbys have the identifier of their primary, and keep it after a failover.
DATABASE = """
    SELECT concat('database ', oid, ' of the server ', system_identifier)
    FROM pg_database, pg_control_system() WHERE datname = current_database()
"""
FOREIGN = (
    "The folder {folder} in the bucket {bucket} belongs to another installation, {owner}; this one is {own}. "
    "Choose another KILIT_S3_BUCKET. If the other one is gone for good, delete the object {folder}.owner."
)


def own_folder() -> str:
    return str(read_row(FOLDER)[0])


def own_database() -> str:
    return str(read_row(DATABASE)[0])
