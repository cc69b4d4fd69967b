"""Finds the site that a command works on."""

from django.core.management.base import CommandError

from ociqueue.models import Site


def find_site(text: str) -> Site:
    site = Site.objects.with_id(text).first()
    if site is None:
        raise CommandError(f"There is no site {text}.")
    return site
