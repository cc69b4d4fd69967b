"""The endpoints for agencies: sites and members in bulk, with a key that has the scope `admin`.

What the key may do is what its user may do on the pages Import sites and Import members; see
docs/decisions/0022-admin-keys.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import cast

from django.contrib.auth.models import User
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.access.authentication import KeyAuthentication
from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.api.cursor import cut_page
from kilit.api.errors import ApiError
from kilit.api.input_model import FieldError, InputModel, InvalidInput, format_error
from kilit.api.openapi import endpoint
from kilit.csv.reader import CsvLine, RejectedField
from ociqueue.api.agency_answers import (
    present_member,
    present_site,
    present_stored_member,
    present_stored_site,
    summary,
)
from ociqueue.models import Site
from ociqueue.models.site import SiteQuerySet
from ociqueue.schemas import agency
from ociqueue.sites import site_operations
from ociqueue.sites.member_files import managed_members, store_members
from ociqueue.sites.site_files import store_sites
from ociqueue.sites.site_operations import OperationPlan, SiteOperation

NOT_ALLOWED = {403: {"FORBIDDEN": "The key's user may not administer sites."}}
CONFLICT = {409: {"CONFLICT": "Not possible with some of the sites, so nothing was changed; `fields` lists them."}}
NO_SUCH_SITE = "There is no such site among those you administer."


class AgencyView(APIView):
    """A view for a key with the scope `admin`: all of a request is done, or nothing."""

    tag = "Agencies"
    errors = NOT_ALLOWED
    authentication_classes = [KeyAuthentication]  # a session has the pages

    def check_permissions(self, request: Request) -> None:
        """Let in whom the pages let in."""
        super().check_permissions(request)
        if not (request.user.has_perm("ociqueue.change_site") or request.user.has_perm("ociqueue.add_site")):
            raise PermissionDenied("The user of this key may not administer sites.")


class SitesView(AgencyView):
    @endpoint(agency.ManagedSites, query=agency.SitesQuery, scope=KeyScope.ADMIN)
    def get(self, request: Request, asked: agency.SitesQuery) -> Response:
        """List sites.

        Those that the key's user administers; of an owner, all. Pass `nextCursor` as `cursor` for the next page.
        """
        sites = Site.objects.administered_by(request.user)
        if asked.state != "all":
            sites = sites.filter(archived_at__isnull=asked.state == "active")
        if asked.cursor:
            sites = sites.filter(pk__gt=asked.cursor)
        shown, following = cut_page(list(sites.order_by("pk")[: asked.limit + 1]), asked.limit)
        return Response({"sites": [present_site(site) for site in shown], "nextCursor": following})

    @endpoint(agency.SitesStored, body=agency.SitesRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, asked: agency.SitesRequest) -> Response:
        """Create and change sites.

        A site is recognised by its `publicId`, or else by its `name`; a name that no site has creates one, and the
        key's user becomes its admin. Sending the same again changes nothing. If one is invalid, nothing is stored.
        """
        plan = store_sites(
            user_of(request),
            read_items(asked.sites),
            dry_run=asked.dryRun,
            name_place=partial(name_item, "sites"),
            logged=f"Stored by API. {note_of(request)}",
        )
        refuse("sites", plan.rejected)
        results = [present_stored_site(each, dry_run=asked.dryRun) for each in plan.found]
        return Response(summary(results, ("created", "changed", "unchanged"), dry_run=asked.dryRun))


class MembersView(AgencyView):
    @endpoint(agency.ManagedMembers, query=agency.MembersQuery, scope=KeyScope.ADMIN)
    def get(self, request: Request, asked: agency.MembersQuery) -> Response:
        """List members.

        Of the sites that the key's user administers, or of one. Pass `nextCursor` as `cursor` for the next page.
        """
        sites = Site.objects.administered_by(request.user)
        if asked.site is not None:
            sites = sites.filter(public_id=asked.site)
            if not sites.exists():
                raise InvalidInput([{"field": "site", "message": NO_SUCH_SITE}], 1)
        members = managed_members(sites)
        if asked.cursor:
            members = members.filter(pk__gt=asked.cursor.int)
        shown, following = cut_page(list(members.order_by("pk")[: asked.limit + 1]), asked.limit)
        return Response({"members": [present_member(each) for each in shown], "nextCursor": following})

    @endpoint(agency.MembersStored, body=agency.MembersRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, asked: agency.MembersRequest) -> Response:
        """Give and end roles.

        A person who does not exist is created, without a password that anyone knows: the person sets one by e-mail
        from the login page, or an admin does in the console. Only keys of owners add, change and remove admins.
        Sending the same again changes nothing. If one is invalid, nothing is stored.
        """
        plan = store_members(
            user_of(request),
            read_items(asked.members),
            dry_run=asked.dryRun,
            name_place=partial(name_item, "members"),
            logged=f"Stored by API. {note_of(request)}",
        )
        refuse("members", plan.rejected)
        results = [present_stored_member(each, is_new=each.person.username in plan.people) for each in plan.found]
        counted = summary(results, ("created", "changed", "ended", "unchanged"), dry_run=asked.dryRun)
        return Response({**counted, "newPeople": len(plan.people)})


class OperationView(AgencyView):
    """One of the verbs of sites."""

    errors = NOT_ALLOWED | CONFLICT
    operation: SiteOperation

    def run(self, request: Request, asked: agency.SitesNamed, *, reason: str = "") -> Response:
        if not self.operation.may(request.user):
            raise PermissionDenied("The user of this key may not do this.")
        refuse_repeated("sites", asked.sites)
        plan = site_operations.run_on_all(
            self.operation,
            request.user,
            asked.sites,
            reason=reason,
            note=f" {note_of(request)}",
            dry_run=asked.dryRun,
        )
        refuse_plan(plan)
        results = [
            {
                "index": index,
                "status": "changed" if site.pk in plan.changed else "unchanged",
                "publicId": site.public_id,
                "name": site.name,
            }
            for index, site in enumerate(plan.sites)
            if site
        ]
        return Response(summary(results, ("changed", "unchanged"), dry_run=asked.dryRun))


class PauseSitesView(OperationView):
    operation = site_operations.PAUSE

    @endpoint(agency.SitesOperated, body=agency.SitesNamedWithReason, scope=KeyScope.ADMIN)
    def post(self, request: Request, asked: agency.SitesNamedWithReason) -> Response:
        """Pause sites.

        Nothing is exported or sent while a site is paused. Sites that are paused already stay as they are.
        """
        return self.run(request, asked, reason=asked.reason)


class ResumeSitesView(OperationView):
    operation = site_operations.RESUME

    @endpoint(agency.SitesOperated, body=agency.SitesNamed, scope=KeyScope.ADMIN)
    def post(self, request: Request, asked: agency.SitesNamed) -> Response:
        """Resume sites.

        An archived site cannot be resumed: restore it first.
        """
        return self.run(request, asked)


class ArchiveSitesView(OperationView):
    operation = site_operations.ARCHIVE

    @endpoint(agency.SitesOperated, body=agency.SitesNamedWithReason, scope=KeyScope.ADMIN)
    def post(self, request: Request, asked: agency.SitesNamedWithReason) -> Response:
        """Archive sites.

        They leave lists and dashboards, are paused, and their keys are denied; their rows stay. A site with rows that
        wait or are being sent, or with an import that goes on, cannot be archived.
        """
        return self.run(request, asked, reason=asked.reason)


class RestoreSitesView(OperationView):
    operation = site_operations.RESTORE

    @endpoint(agency.SitesOperated, body=agency.SitesNamed, scope=KeyScope.ADMIN)
    def post(self, request: Request, asked: agency.SitesNamed) -> Response:
        """Restore archived sites.

        They stay paused until they are resumed.
        """
        return self.run(request, asked)


def administered_sites(request: Request) -> SiteQuerySet:
    """Return the sites whose keys, login and sender the key's user may change on their pages."""
    if not request.user.has_perm("ociqueue.change_site"):
        raise PermissionDenied("The user of this key may not administer sites.")
    return Site.objects.administered_by(request.user)


def user_of(request: Request) -> User:
    return cast("ApiKey", request.auth).user


def note_of(request: Request) -> str:
    """Return what the history of each object says about the key: its user alone may have several."""
    return f"With the API key {request.auth}."


def name_item(of: str, index: int) -> str:
    return f"{of}.{index}"


def read_items(items: Sequence[InputModel]) -> Iterator[CsvLine]:
    """Return the items of a request as the lines that the planners of files read."""
    for index, item in enumerate(items):
        given = item.model_dump(mode="json", exclude_none=True)
        words = {True: "yes", False: "no"}
        cells = {name: words[value] if isinstance(value, bool) else value for name, value in given.items()}
        yield CsvLine(index, cells)


def refuse(of: str, rejected: Iterable[RejectedField]) -> None:
    errors: list[FieldError] = [
        {"field": ".".join(filter(None, (of, str(each.line), each.field))), "message": each.reason} for each in rejected
    ]
    if errors:
        raise InvalidInput(errors, len(errors))


def refuse_repeated(of: str, names: Sequence[str | int]) -> None:
    first = {name: index for index, name in reversed(list(enumerate(names)))}
    refuse_invalid(
        {
            name_item(of, index): f"{name_item(of, first[name])} is the same {of[:-1]}."
            for index, name in enumerate(names)
            if first[name] != index
        }
    )


def refuse_plan(plan: OperationPlan) -> None:
    refuse_invalid({f"sites.{index}": NO_SUCH_SITE for index, site in enumerate(plan.sites) if site is None})
    refuse_conflicts(
        {
            f"sites.{index}": plan.refused[site.pk]
            for index, site in enumerate(plan.sites)
            if site and site.pk in plan.refused
        }
    )


def refuse_invalid(faults: Mapping[str, str]) -> None:
    """Refuse a request by what is wrong with its fields, if something is."""
    if fields := list_faults(faults):
        raise InvalidInput(fields, len(fields))


def refuse_conflicts(faults: Mapping[str, str]) -> None:
    """Refuse a request by what its fields cannot do now, if there is something."""
    if fields := list_faults(faults):
        raise ApiError(409, "CONFLICT", "; ".join(map(format_error, fields)), fields=fields)


def list_faults(faults: Mapping[str, str]) -> list[FieldError]:
    return [{"field": field, "message": message} for field, message in faults.items()]
