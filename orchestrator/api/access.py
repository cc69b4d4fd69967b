"""Permissions of the cutting API: viewers read, operators act; a key has the role of its user."""

from typing import Any, ClassVar

from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.views import APIView

from kilit.api.errors import ApiError
from orchestrator.errors import Code
from orchestrator.schemas.orders import InvalidOrder

MOST_IN_MESSAGE = 20


class QueueView(APIView):
    tag = "Cutting jobs"
    errors: ClassVar = {403: {"FORBIDDEN": "Your role does not allow this."}}

    def check_permissions(self, request: Request) -> None:
        super().check_permissions(request)
        needed = "view" if request.method in ("GET", "HEAD", "OPTIONS") else "operate"
        if not request.user.has_perm(f"orchestrator.{needed}_job"):
            raise PermissionDenied("Viewers cannot do this." if needed == "operate" else "You cannot view jobs.")

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, InvalidOrder):
            message = "; ".join(exc.lines[:MOST_IN_MESSAGE])
            if (more := exc.count - MOST_IN_MESSAGE) > 0:
                message = f"{message}; and {more} more"
            beyond = {"faults_beyond": exc.count - len(exc.lines)} if exc.count > len(exc.lines) else {}
            exc = ApiError(422, Code.VALIDATION, message, faults=exc.lines, **beyond)
        return super().handle_exception(exc)
