"""`manage.py oci_reseal_credentials`: the former name of `reencrypt_secrets`."""

from kilit.access.management.commands.reencrypt_secrets import Command

__all__ = ["Command"]
