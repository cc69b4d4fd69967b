"""The endpoints for agencies: the keys of their sites."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.api.cursor import cut_page
from kilit.api.openapi import endpoint
from kilit.sites import site_keys
from kilit.sites.api.views import (
    CONFLICT,
    NO_SUCH_SITE,
    NOT_ALLOWED,
    AgencyView,
    administered_sites,
    note_of,
    refuse_conflicts,
    refuse_invalid,
    refuse_repeated,
    summary,
)
from kilit.sites.models import Tenant
from kilit.sites.schemas import keys as schemas

NO_SUCH_KEY = "There is no such key of a site that you administer."


class KeysView(AgencyView):
    errors = NOT_ALLOWED | CONFLICT

    @endpoint(schemas.ManagedKeys, query=schemas.KeysQuery, scope=KeyScope.ADMIN)
    def get(self, request: Request, params: schemas.KeysQuery) -> Response:
        """List keys of sites.

        Of the sites that the key's user administers, or of one. Pass `nextCursor` as `cursor` for the next page.
        """
        sites = administered_sites(request)
        if params.site is not None:
            sites = sites.filter(public_id=params.site)
            if not sites.exists():
                refuse_invalid({"site": NO_SUCH_SITE})
        owners = {site.keys_username: site for site in sites}
        keys = site_keys.keys_of(owners.values())
        if params.state != "all":
            valid = ApiKey.objects.valid().values("pk")
            keys = keys.filter(pk__in=valid) if params.state == "valid" else keys.exclude(pk__in=valid)
        if params.cursor:
            keys = keys.filter(pk__gt=params.cursor.int)
        shown, following = cut_page(list(keys.order_by("pk")[: params.limit + 1]), params.limit)
        return Response({"keys": [present_key(key, owners) for key in shown], "nextCursor": following})

    @endpoint(schemas.KeysIssued, body=schemas.KeysRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.KeysRequest) -> Response:
        """Issue keys of sites.

        The answer has their texts, once. A name that a valid key of the site has issues no second one: with the same
        scopes and end it is `unchanged`, otherwise nothing is issued at all. If the answer was lost, revoke the key.
        """
        wanted = read_requests(request, params)
        plan = site_keys.issue_keys(request.user, wanted, note=f" {note_of(request)}", dry_run=params.dryRun)
        if plan.refused:
            refuse_conflicts({f"keys.{index}.name": message for index, message in plan.refused.items()})
        results = []
        for index, each in enumerate(wanted):
            key, text = plan.issued.get(index, (plan.existing.get(index), None))
            results.append(
                {
                    "index": index,
                    "status": "unchanged" if index in plan.existing else "created",
                    "id": key and key.pk,
                    "site": each.site.public_id,
                    "name": each.name,
                    "key": text,
                }
            )
        return Response(summary(results, ("created", "unchanged"), dry_run=params.dryRun))


class RevokeKeysView(AgencyView):
    @endpoint(schemas.KeysRevoked, body=schemas.KeysNamed, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.KeysNamed) -> Response:
        """Revoke keys of sites.

        Programs that use them are denied from now on. Keys that were revoked before stay as they are.
        """
        refuse_repeated("keys", params.keys)
        owners = {site.keys_username: site for site in administered_sites(request)}
        keys = {key.pk: key for key in site_keys.keys_of(owners.values()).filter(pk__in=params.keys)}
        unknown = {f"keys.{index}": NO_SUCH_KEY for index, pk in enumerate(params.keys) if pk not in keys}
        refuse_invalid(unknown)
        revoked = {pk for pk, key in keys.items() if key.revoked_at is None}
        if not params.dryRun:
            named = [(owners[keys[pk].user.username], keys[pk]) for pk in params.keys]
            revoked = site_keys.revoke_keys(request.user, named, note=f" {note_of(request)}")
        results = [
            {
                "index": index,
                "status": "changed" if pk in revoked else "unchanged",
                "id": pk,
                "site": owners[keys[pk].user.username].public_id,
                "name": keys[pk].name,
            }
            for index, pk in enumerate(params.keys)
        ]
        return Response(summary(results, ("changed", "unchanged"), dry_run=params.dryRun))


def read_requests(request: Request, params: schemas.KeysRequest) -> list[site_keys.KeyRequest]:
    """Return what is to be issued; a site of others is like one that does not exist."""
    named = administered_sites(request).filter(public_id__in={each.site for each in params.keys})
    sites = {site.public_id: site for site in named}
    faults: dict[str, str] = {}
    first: dict[tuple[str, str], int] = {}
    for index, each in enumerate(params.keys):
        if each.site not in sites:
            faults[f"keys.{index}.site"] = NO_SUCH_SITE
        if each.expiresAt and each.expiresAt <= timezone.now():
            faults[f"keys.{index}.expiresAt"] = "Expected a time in the future."
        if (earlier := first.setdefault((each.site, each.name), index)) != index:
            faults[f"keys.{index}.name"] = f"keys.{earlier} is the same key."
    refuse_invalid(faults)
    return [site_keys.KeyRequest(sites[each.site], each.name, each.scopes, each.expiresAt) for each in params.keys]


def present_key(key: ApiKey, owners: dict[str, Tenant]) -> dict[str, object]:
    is_expired = key.expires_at is not None and key.expires_at <= timezone.now()
    return {
        "id": key.pk,
        "site": owners[key.user.username].public_id,
        "name": key.name,
        "scopes": key.scopes,
        "hint": key.hint,
        "isValid": key.revoked_at is None and not is_expired and key.user.is_active,
        "createdAt": key.created_at,
        "expiresAt": key.expires_at,
        "usedAt": key.used_at,
        "revokedAt": key.revoked_at,
    }
