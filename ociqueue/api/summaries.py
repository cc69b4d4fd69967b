"""The endpoint for Google's upload summaries, which a script reads in its own account."""

from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.errors import ApiError
from kilit.api.openapi import endpoint
from kilit.lock.clock import database_time
from kilit.workers import doorbells
from ociqueue.api.script import ScriptView
from ociqueue.reconcile.reading import DaySummary, GoogleAlert, Reading, store
from ociqueue.schemas import answers
from ociqueue.schemas.upload_summary import UploadSummaryRequest
from ociqueue.states import SyncMethod


class UploadSummaryView(ScriptView):
    @endpoint(
        answers.SummaryStored,
        body=UploadSummaryRequest,
        scope=KeyScope.SCRIPT,
        errors={409: {"NOT_A_SCRIPT_SITE": "The site uses one of Google's APIs."}},
    )
    def post(self, request: Request, asked: UploadSummaryRequest) -> Response:
        """Send what Google counted.

        The numbers of `offline_conversion_upload_conversion_action_summary`, all of them. They replace what was sent
        before, so the same request may be sent again. The console shows them beside what the script reported.
        """
        site = self.site(request, asked.siteId)
        if site.sync_method != SyncMethod.SCRIPT:
            raise ApiError(409, "NOT_A_SCRIPT_SITE", "This site uses one of Google's APIs; remove its script.")
        store(site, reading_of(asked), read_at=database_time())
        doorbells.ring("oci_reconcile")
        return Response({"ok": True, "stored": len(asked.days)})


def reading_of(asked: UploadSummaryRequest) -> Reading:
    return Reading(
        customer_id=asked.customerId,
        time_zone=asked.timeZone,
        summaries=[
            DaySummary(
                upload_date=each.day,
                action_id=each.actionId,
                action_name=each.actionName,
                client=each.client,
                successful=each.successful,
                failed=each.failed,
                pending=each.pending,
            )
            for each in asked.days
        ],
        alerts=[GoogleAlert(each.error, each.share, each.client, each.action) for each in asked.alerts],
    )
