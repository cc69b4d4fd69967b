"""`POST conversions`."""

from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.authentication import KeyAuthentication
from ociqueue.api import schema
from ociqueue.api.script import ScriptView, read
from ociqueue.api.serializers import EnqueueSerializer
from ociqueue.enqueue import enqueue


@schema.conversions
class EnqueueView(ScriptView):
    authentication_classes = [KeyAuthentication]  # a script's session may only export and acknowledge

    def post(self, request: Request) -> Response:
        asked = read(EnqueueSerializer, request.data)
        report = enqueue(self.site(request, asked["siteId"]), asked["conversions"])
        return Response(
            {
                "ok": True,
                "created": report.count("created"),
                "duplicates": report.count("duplicate"),
                "invalid": report.count("invalid"),
                "results": report.results,
            }
        )
