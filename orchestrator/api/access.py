"""Who may do what: viewers read, operators act; a key may what its user may."""

from typing import Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.views import APIView

from kilit.api.errors import ApiError
from orchestrator.errors import Code
from orchestrator.orders.order import InvalidOrder

MOST_SPOKEN = 20
MOST_FAULTS = 100


class QueueView(APIView):
    """A view of the queue: reading needs `view`, everything else `operate`."""

    def check_permissions(self, request: Request) -> None:
        """Ask for the role that the method needs."""
        super().check_permissions(request)
        needed = "view" if request.method in ("GET", "HEAD", "OPTIONS") else "operate"
        if not request.user.has_perm(f"orchestrator.{needed}_job"):
            raise PermissionDenied("Viewers may look, not act." if needed == "operate" else "You may not look at jobs.")

    def handle_exception(self, exc: Exception) -> Any:
        """Answer what is wrong with an order in full."""
        return super().handle_exception(unreadable(exc) if isinstance(exc, InvalidOrder) else exc)


def unreadable(wrong: InvalidOrder) -> ApiError:
    """Return the refusal that lists the faults, and says how many more there are."""
    spoken = "; ".join(wrong.faults[:MOST_SPOKEN])
    more = len(wrong.faults) - MOST_SPOKEN
    message = f"{spoken}; and {more} more" if more > 0 else spoken
    beyond = len(wrong.faults) - MOST_FAULTS
    facts = {"faults_beyond": beyond} if beyond > 0 else {}
    return ApiError(422, Code.VALIDATION, message, faults=wrong.faults[:MOST_FAULTS], **facts)


def read(serializer: Any, data: Any) -> dict[str, Any]:
    """Return the checked request, or refuse with every bad field."""
    asked = serializer(data=data)
    asked.is_valid(raise_exception=True)
    return dict(asked.validated_data)
