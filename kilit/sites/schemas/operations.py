"""Sites by their public ids, for a key with the scope `admin`: what is asked for, and what is answered."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.input_model import InputModel, line

SITE = "4f1d2c3b5a69788796a5b4c3d2e1f001"
PublicId = Annotated[str, Field(description="The site's public id.", pattern="^[0-9a-f]{32}$")]
MOST_ITEMS = 1_000
MOST_LISTED = 1_000
LONGEST_REASON = 200
KNOWN_AS = "The public id of a site."
DRY_RUN = Field(description="Only check: the answer says what would change.")


class SitesNamed(InputModel):
    """Sites, by their public ids."""

    sites: Annotated[list[Annotated[str, line(64)]], Field(min_length=1, max_length=MOST_ITEMS, description=KNOWN_AS)]
    dryRun: Annotated[bool, DRY_RUN] = False

    examples = {"one site": {"sites": [SITE]}}


class SitesNamedWithReason(SitesNamed):
    """Sites, by their public ids, and why."""

    reason: Annotated[str, line(LONGEST_REASON), Field(description="Shown on the pages of the sites.")]

    examples = {"one site": {"sites": [SITE], "reason": "The contract ended."}}


class SiteOperated(TypedDict):
    """What became of one site."""

    index: int
    status: Literal["changed", "unchanged"]
    publicId: PublicId
    name: str


class SitesOperated(TypedDict):
    """What was changed, or would be; the results are in the order of the request."""

    dryRun: bool
    changed: int
    unchanged: int
    results: list[SiteOperated]
