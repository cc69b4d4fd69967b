"""The endpoints for agencies: the members of their sites."""

from functools import partial

from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.cursor import cut_page
from kilit.api.openapi import endpoint
from kilit.api.presenter import present
from kilit.sites.api.views import (
    NO_SUCH_SITE,
    AgencyView,
    name_item,
    note_of,
    read_items,
    refuse,
    refuse_invalid,
    summary,
    user_of,
)
from kilit.sites.member_files import MemberChange, MemberPlan, managed_members, store_members
from kilit.sites.models import SiteMembership, Tenant
from kilit.sites.schemas import members as schemas


class MembersView(AgencyView):
    @endpoint(schemas.ManagedMembers, query=schemas.MembersQuery, scope=KeyScope.ADMIN)
    def get(self, request: Request, params: schemas.MembersQuery) -> Response:
        """List members.

        Of the sites that the key's user administers, or of one. Pass `nextCursor` as `cursor` for the next page.
        """
        sites = Tenant.objects.administered_by(request.user)
        if params.site is not None:
            sites = sites.filter(public_id=params.site)
            if not sites.exists():
                refuse_invalid({"site": NO_SUCH_SITE})
        members = managed_members(sites)
        if params.cursor:
            members = members.filter(pk__gt=params.cursor.int)
        shown, following = cut_page(list(members.order_by("pk")[: params.limit + 1]), params.limit)
        return Response({"members": [present_member(each) for each in shown], "nextCursor": following})

    @endpoint(schemas.MembersStored, body=schemas.MembersRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.MembersRequest) -> Response:
        """Give and end roles.

        A person who does not exist is created, without a password that anyone knows: the person sets one by e-mail
        from the login page, or an admin does in the console. Only keys of owners add, change and remove admins.
        Sending the same again changes nothing. If one is invalid, nothing is stored.
        """
        plan = store_members(
            user_of(request),
            read_items(params.members),
            dry_run=params.dryRun,
            name_place=partial(name_item, "members"),
            logged=f"Stored by API. {note_of(request)}",
        )
        refuse("members", plan.rejected)
        results = [present_stored_member(plan, each) for each in plan.found]
        counted = summary(results, ("created", "changed", "ended", "unchanged"), dry_run=params.dryRun)
        return Response({**counted, "newPeople": len(plan.people)})


def present_member(member: SiteMembership) -> schemas.ManagedMember:
    site = member.site
    return present(member.user, schemas.ManagedMember, site=site.public_id, siteName=site.name, role=member.role)


def present_stored_member(plan: MemberPlan, change: MemberChange) -> dict[str, object]:
    before, after = change.before or None, change.after or None
    status = "unchanged" if before == after else "created" if not before else "changed" if after else "ended"
    return {
        "index": change.line,
        "status": status,
        "username": change.person.username,
        "isNewPerson": change.person.username in plan.people,
        "site": change.site.public_id,
        "before": before,
        "after": after,
        "missingGroup": plan.missing_group(change) or None,
    }
