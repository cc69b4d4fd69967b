"""What the endpoints for agencies share: a key that has the scope `admin`, and how requests are read and refused.

What the key may do is what its user may do on the pages Import sites and Import members; see
docs/decisions/0022-admin-keys.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from django.contrib.auth.models import User
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.views import APIView

from kilit.access.authentication import KeyAuthentication
from kilit.access.models import ApiKey
from kilit.api.errors import ApiError
from kilit.api.input_model import FieldError, InputModel, InvalidInput, format_error
from kilit.csv.reader import CsvLine, RejectedField
from kilit.sites.models import SiteQuerySet
from kilit.sites.site_model import has_site_permission, sites

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
        if not has_site_permission(request.user, "change", "add"):
            raise PermissionDenied("The user of this key may not administer sites.")


def summary(results: Sequence[Mapping[str, object]], statuses: Sequence[str], *, dry_run: bool) -> dict[str, object]:
    counts = Counter(result["status"] for result in results)
    return {"dryRun": dry_run, **{status: counts[status] for status in statuses}, "results": results}


def administered_sites(request: Request) -> SiteQuerySet[Any]:
    """Return the sites whose keys, login and sender the key's user may change on their pages."""
    if not has_site_permission(request.user, "change"):
        raise PermissionDenied("The user of this key may not administer sites.")
    return sites().administered_by(request.user)


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
