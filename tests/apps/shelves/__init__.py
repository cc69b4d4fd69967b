"""An app with two migrations, for tests of `manage.py migrate`; only installed by its own settings."""
