"""Members of sites, for a key with the scope `admin`: what is asked for, and what is answered."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.cursor import Cursor
from kilit.api.input_model import ONLY_DIGITS, InputModel, LenientInput, line
from kilit.sites.schemas.operations import DRY_RUN, KNOWN_AS, MOST_ITEMS, MOST_LISTED, SITE, PublicId

SiteRole = Literal["viewer", "operator", "admin"]


class MemberToStore(InputModel):
    """A person's role at a site. A person who does not exist yet is created."""

    username: Annotated[str, line(150)]
    site: Annotated[str, line(100), Field(description="The public id of a site, or its name.")]
    role: Literal["viewer", "operator", "admin", "none"] = Field(description="`none` ends the membership.")
    email: Annotated[str, line(254), Field(description="Of a new person.")] | None = None
    firstName: Annotated[str, line(150), Field(description="Of a new person.")] | None = None
    lastName: Annotated[str, line(150), Field(description="Of a new person.")] | None = None


class MembersRequest(InputModel):
    """Roles to give and to end: all of them, or none if one is invalid."""

    members: Annotated[list[MemberToStore], Field(min_length=1, max_length=MOST_ITEMS)]
    dryRun: Annotated[bool, DRY_RUN] = False

    examples = {
        "a new operator": {
            "members": [{"username": "deniz", "email": "deniz@example.com", "site": SITE, "role": "operator"}]
        },
    }


class MembersQuery(LenientInput):
    site: Annotated[str, line(64), Field(description=KNOWN_AS)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED), ONLY_DIGITS] = 200
    cursor: Cursor | None = None


class ManagedMember(TypedDict):
    """A person's role at a site."""

    username: str
    email: str
    firstName: str
    lastName: str
    isActive: bool
    site: PublicId
    siteName: str
    role: SiteRole


class ManagedMembers(TypedDict):
    """The members of the sites that the key's user administers."""

    members: list[ManagedMember]
    nextCursor: str | None


class MemberStored(TypedDict):
    """What became of one membership; roles are null where there is none."""

    index: int
    status: Literal["created", "changed", "ended", "unchanged"]
    username: str
    isNewPerson: bool
    site: PublicId
    before: SiteRole | None
    after: SiteRole | None
    missingGroup: Annotated[
        SiteRole | None,
        Field(description="Until an owner gives the person this group, they cannot act in their role at any site."),
    ]


class MembersStored(TypedDict):
    """What was changed, or would be; the results are in the order of the request."""

    dryRun: bool
    created: int
    changed: int
    ended: int
    unchanged: int
    newPeople: int
    results: list[MemberStored]
