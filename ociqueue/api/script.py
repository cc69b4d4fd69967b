"""The endpoints for a site's key: send, adjust, export, acknowledge, acknowledge failure."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic_core import to_json
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.access.authentication import KeyAuthentication
from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.api.errors import ApiError
from kilit.api.input_model import InvalidInput
from kilit.api.openapi import ApiResponse, endpoint
from kilit.lock.clock import database_time
from kilit.sites.models import SiteQuerySet
from kilit.workers import doorbells
from ociqueue.api.authentication import ScriptSession, SessionTokenAuthentication, open_session
from ociqueue.intake.adjustments import adjust
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Site, UploadSummary
from ociqueue.models.statements import find_site_run_by
from ociqueue.reconcile.reading import Reading, store
from ociqueue.schemas import requests, responses
from ociqueue.schemas.adjustments import AdjustRequest
from ociqueue.schemas.requests import UploadSummaryRequest
from ociqueue.script import acknowledge, export
from ociqueue.states import SyncMethod

NO_SUCH_SITE = "There is no such site."
NO_SITE = {404: {"NOT_FOUND": "There is no such site, or you have no access to it."}}
Result = TypeVar("Result", responses.ConversionResult, responses.AdjustmentResult)
ARCHIVED = {403: {"SITE_ARCHIVED": "The site is archived: its keys work again when an admin restores it."}}


class ScriptView(APIView):
    """A view for a site's key; other sites are not found."""

    tag = "Conversions"
    errors = NO_SITE | ARCHIVED
    authentication_classes = [SessionTokenAuthentication]

    def site(self, request: Request, name: str) -> Site:
        site = find_site_run_by(request.user, name)
        if isinstance(request.auth, ScriptSession) and site and str(site.pk) != request.auth.site_id:
            site = None
        if site is None:
            raise NotFound(NO_SUCH_SITE)
        if site.archived_at:
            message = f"The site {site.name} is archived. Stop this script or program, or ask an admin to restore it."
            raise ApiError(403, "SITE_ARCHIVED", message)
        return site


class IntakeView(ScriptView):
    """A view that stores items; by default the valid ones, although others are invalid."""

    authentication_classes = [KeyAuthentication]  # a script's session may only export and acknowledge
    errors = ScriptView.errors | {
        422: {"INVALID_ITEMS": "With `strict`: some are invalid, so nothing was stored; `results` has them."}
    }

    def store(
        self, request: Request, body: requests.IntakeRequest, store: Callable[..., list[Result]], items: list[Any]
    ) -> list[Result]:
        name = body.siteId or only_site(Site.objects.once_run_by(request.user)).public_id
        with transaction.atomic() if body.strict else nullcontext():
            results = store(self.site(request, name), items, dry_run=body.dryRun)
            invalid = [result for result in results if result["status"] == "invalid"]
            if invalid and body.strict:
                message = f"{len(invalid)} of {len(results)} are invalid, so nothing was stored."
                raise ApiError(422, "INVALID_ITEMS", message, results=invalid)
        return results


class EnqueueView(IntakeView):
    @endpoint(responses.Enqueued, body=requests.EnqueueRequest, scope=KeyScope.ENQUEUE)
    def post(self, request: Request, body: requests.EnqueueRequest) -> Response:
        """Send conversions.

        Valid ones are stored even when others are invalid, unless `strict` is true. The same `sourceKey` with the same
        data is a `duplicate`.
        With other data it corrects a conversion that waits or has failed; otherwise nothing changes, and `differs`
        lists the fields. One whose visitor denied consent is stored, and not sent unless the site sends such ones.
        """
        results = self.store(request, body, enqueue, body.conversions)
        corrected = sum(result["status"] == "corrected" for result in results)
        counts = {"corrected": corrected, "withheld": sum("errorCode" in result for result in results)}
        return Response({"ok": True, **count_results(results), **counts, "results": results})


class AdjustView(IntakeView):
    @endpoint(responses.Adjusted, body=AdjustRequest, scope=KeyScope.ENQUEUE)
    def post(self, request: Request, body: AdjustRequest) -> Response:
        """Retract conversions, or change their values.

        Valid adjustments are stored even when others are invalid, unless `strict` is true; the same adjustment again is
        a duplicate. An adjustment is sent when its conversion is COMPLETED. A conversion that was not sent yet ends
        with its retraction, and nothing is sent.
        """
        results = self.store(request, body, adjust, body.adjustments)
        return Response({"ok": True, **count_results(results), "results": results})


class ExportView(ScriptView):
    # No HEAD: it would claim rows and drop the response.
    http_method_names = ["get", "options"]
    get_stores = True

    @endpoint(
        ApiResponse("What was or would be claimed.", list[responses.Item] | responses.ClaimedPage | responses.Preview),
        query=requests.ExportQuery,
        scope=KeyScope.SCRIPT,
        errors={
            409: {"NOT_A_SCRIPT_SITE": "The site uses the Google Ads API or the Data Manager API."},
            503: {"SITE_PAUSED": "An operator paused the site; the message contains the reason."},
        },
    )
    def get(self, request: Request, query: requests.ExportQuery) -> Response:
        """Claim conversions, or preview them.

        Only the literal `markAsExported=true` claims rows, and returns a flat array of exactly those; anything else is
        a preview, which writes nothing. With `paged=true` both return an object with `items` and `nextCursor`: as long
        as it is not null, ask again with it as `cursor`.
        """
        site = self.site(request, query.siteId)
        if site.sync_method != SyncMethod.SCRIPT:
            sender = SyncMethod(site.sync_method).label
            raise ApiError(409, "NOT_A_SCRIPT_SITE", f"This site uses the {sender}; remove its script.")
        is_paged = query.paged == "true"
        if query.markAsExported != "true":
            if is_paged:
                return Response(export.preview_page(site, limit=query.limit, cursor=query.cursor))
            return Response(export.preview(site, limit=query.limit))
        if site.is_paused:
            raise ApiError(503, "SITE_PAUSED", f"The site is paused: {site.pause_reason}", retry_after=3600)
        # By pydantic's encoder: DRF's takes a quarter of the time that Python spends on a page.
        claim = export.claim_page if is_paged else export.claim_items
        return Response(to_json(claim(site, limit=query.limit)))


class AckView(ScriptView):
    @endpoint(responses.Acknowledged, body=requests.AckRequest, scope=KeyScope.SCRIPT)
    def post(self, request: Request, body: requests.AckRequest) -> Response:
        """Acknowledge uploaded conversions.

        Rows that are PROCESSING become COMPLETED; `skippedIds`, which the script skipped, become FAILED.
        """
        site = self.site(request, body.siteId)
        ids, invalid = split_ids(body.queueIds)
        skipped, more_invalid = split_ids(body.skippedIds or [])
        result = acknowledge.ack(site, ids, skipped=skipped, claims=body.claims)
        return acknowledged(result, invalid + more_invalid)


class AckFailedView(ScriptView):
    @endpoint(responses.Acknowledged, body=requests.AckFailedRequest, scope=KeyScope.SCRIPT)
    def post(self, request: Request, body: requests.AckFailedRequest) -> Response:
        """Report conversions that could not be uploaded."""
        site = self.site(request, body.siteId)
        ids, invalid = split_ids(body.queueIds)
        error = {"code": body.errorCode, "category": body.errorCategory, "message": body.errorMessage}
        result = acknowledge.ack_failed(site, ids, **error, claims=body.claims)
        site.note_ack()
        return acknowledged(result, invalid)


class VerifyView(ScriptView):
    authentication_classes = [KeyAuthentication]

    @endpoint(responses.Session, body=requests.SiteRequest, scope=KeyScope.SCRIPT)
    def post(self, request: Request, body: requests.SiteRequest) -> Response:
        """Exchange a key for a token for one site, as older scripts do."""
        token, expires_at = open_session(cast("ApiKey", request.auth), self.site(request, body.siteId))
        return Response({"session_token": token, "expires_at": expires_at.isoformat(timespec="seconds")})


def split_ids(values: Sequence[UUID | str]) -> tuple[list[UUID], list[str]]:
    """Return the ids of a report, and what is no id."""
    return [value for value in values if isinstance(value, UUID)], [value for value in values if isinstance(value, str)]


def acknowledged(result: acknowledge.MoveResult, invalid: Sequence[str]) -> Response:
    ignored = result.skipped_rows() + [{"id": text, "status": "INVALID_ID"} for text in invalid]
    return Response({"ok": True, "updated": result.moved, "ignored": ignored})


def count_results(results: Sequence[responses.ConversionResult | responses.AdjustmentResult]) -> dict[str, int]:
    counts = Counter(result["status"] for result in results)
    return {"created": counts["created"], "duplicates": counts["duplicate"], "invalid": counts["invalid"]}


def only_site(sites: SiteQuerySet[Site]) -> Site:
    """Return the site of a key that has one, for a request that names none."""
    first_sites = list(sites[:2])
    if not first_sites:
        raise NotFound(NO_SUCH_SITE)
    if len(first_sites) > 1:
        message = _("This field is required: the key opens several sites.")
        raise InvalidInput([{"field": "siteId", "message": message}], 1)
    return first_sites[0]


def find_site(sites: SiteQuerySet[Site], name: str) -> Site:
    if site := sites.with_id(name).first():
        return site
    raise NotFound(NO_SUCH_SITE)


class UploadSummaryView(ScriptView):
    @endpoint(
        responses.SummaryStored,
        body=UploadSummaryRequest,
        scope=KeyScope.SCRIPT,
        errors={409: {"NOT_A_SCRIPT_SITE": "The site uses one of Google's APIs."}},
    )
    def post(self, request: Request, body: UploadSummaryRequest) -> Response:
        """Send what Google counted.

        The numbers of `offline_conversion_upload_conversion_action_summary`, all of them. They replace what was sent
        before, so the same request may be sent again. The console shows them beside what the script reported.
        """
        site = self.site(request, body.siteId)
        if site.sync_method != SyncMethod.SCRIPT:
            raise ApiError(409, "NOT_A_SCRIPT_SITE", "This site uses one of Google's APIs; remove its script.")
        summaries = [
            UploadSummary(
                upload_date=day.day,
                action_id=day.actionId,
                action_name=day.actionName,
                **day.model_dump(include={"client", "successful", "failed", "pending"}),
            )
            for day in body.days
        ]
        alerts = [alert.model_dump() for alert in body.alerts]
        store(site, Reading(body.customerId, body.timeZone, summaries, alerts), read_at=database_time())
        doorbells.ring("oci_reconcile")
        return Response({"ok": True, "stored": len(body.days)})
