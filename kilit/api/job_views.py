"""What the APIs of queues share: who may read and act, a page of jobs, and a job by its id.

A verb that a job's state does not allow is answered with 409 (kilit.api.exceptions).
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.api.cursor import page_body

# Of views of one job.
JOB_ID = (OpenApiParameter("id", UUID, OpenApiParameter.PATH, description="The job's id."),)
NO_JOB = {404: {"NOT_FOUND": "There is no such job."}}


def newest(rows: Any, state: str | None) -> Any:
    """Return rows, newest first, perhaps of one state.

    The leading column of the order is compared as a range, so that only the index that begins with it serves.
    """
    if state is None:
        return rows.order_by("-id")
    return rows.filter(status__gte=state, status__lte=state).order_by("-status", "-id")


class QueueView(APIView):
    """Viewers read, operators act, and a key has the role of its user."""

    model: ClassVar[Any]
    errors: ClassVar = {403: {"FORBIDDEN": "Your role does not allow this."}}

    def check_permissions(self, request: Request) -> None:
        super().check_permissions(request)
        opts, needed = self.model._meta, "view" if request.method in SAFE_METHODS else "operate"
        if not request.user.has_perm(f"{opts.app_label}.{needed}_{opts.model_name}"):
            raise PermissionDenied("Viewers cannot do this." if needed == "operate" else "You cannot view jobs.")

    def rows(self, request: Request) -> Any:
        """Return the rows that the caller sees; others do not exist for it."""
        return self.model.objects.all()

    def find(self, request: Request, pk: str) -> Any:
        with suppress(ValueError):  # a malformed id is answered like an unknown one
            if row := self.rows(request).filter(pk=UUID(pk)).first():
                return row
        raise NotFound("There is no such job.")

    @staticmethod
    def page(name: str, rows: Any, query: Any, present: Callable[[Any], Any]) -> Response:
        """Answer with a page of rows under a name, and the cursor of the next page."""
        rows = rows.filter(pk__lt=query.cursor) if query.cursor else rows
        return Response(page_body(name, list(rows[: query.limit + 1]), query.limit, present))
