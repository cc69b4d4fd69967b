"""The site that a command is told to work on."""

from django.core.management.base import CommandError

from ociqueue.models import Site


def site_called(name: str) -> Site:
    """Return the site with this public id or uuid, or end the command."""
    site = Site.objects.called(name).first()
    if site is None:
        raise CommandError(f"There is no site {name}.")
    return site
