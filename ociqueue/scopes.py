"""Sites as the scopes of the installation; see kilit.access.scopes."""

from typing import Any

from ociqueue.models import Site
from ociqueue.models.site import SiteQuerySet


class SiteScopes:
    def names(self) -> dict[str, str]:
        return {str(pk): name for pk, name in Site.objects.values_list("pk", "name")}

    def public_ids(self) -> dict[str, str]:
        return {str(pk): public_id for pk, public_id in Site.objects.values_list("pk", "public_id")}

    def seen_by(self, user: Any) -> list[str] | None:
        return Site.objects.scopes_seen_by(user)

    def run_by(self, user: Any) -> list[str] | None:
        return None if getattr(user, "is_superuser", False) else _ids(Site.objects.run_by(user))


def _ids(sites: SiteQuerySet) -> list[str]:
    return [str(pk) for pk in sites.values_list("pk", flat=True)]
