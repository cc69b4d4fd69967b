"""Finds the site that a command works on."""

from django.core.management.base import CommandError

from ociqueue.models import Site


def find_site(text: str) -> Site:
    site = Site.objects.with_id(text).first()
    if site is None:
        raise CommandError(f"There is no site {text}.")
    return site


def find_active_site(text: str) -> Site:
    site = find_site(text)
    if site.archived_at:
        raise CommandError(f"The site {site.name} is archived; restore it first, on its page in the console.")
    return site
