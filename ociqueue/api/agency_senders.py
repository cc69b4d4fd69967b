"""The endpoints for agencies: the senders of their sites, and the Google logins that these need."""

from dataclasses import asdict

from django.db import transaction
from pydantic.alias_generators import to_camel
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.errors import ApiError
from kilit.api.openapi import endpoint
from kilit.api.presenter import present
from kilit.sentences import english_values
from kilit.sites.api.views import (
    CONFLICT,
    NO_SUCH_SITE,
    NOT_ALLOWED,
    AgencyView,
    administered_sites,
    note_of,
    refuse_conflicts,
    refuse_invalid,
    refuse_repeated,
    summary,
)
from kilit.workers.models import Heartbeat
from ociqueue.api.script import NO_SITE, find_site
from ociqueue.models import Credentials, Site
from ociqueue.operating.login_changes import LABELS, LoginChange, request_test, store_login, stored_login, stored_parts
from ociqueue.operating.senders import change_senders, unsettled_rows
from ociqueue.schemas import agency_senders as schemas
from ociqueue.schemas.requests import SiteRequest

NO_LOGIN = {409: {"NO_CREDENTIALS": "No login is stored for the site."}}
# The fields of a request by the names of GoogleAdsAccount.
PARTS = {name: to_camel(name) for name in LABELS}
NAMES = {field: name for name, field in PARTS.items()}
OPEN_ROWS = "Rows are being sent, or have an unknown outcome ({rows}). Send {confirm} to change it all the same."


class SenderView(AgencyView):
    errors = NOT_ALLOWED | CONFLICT

    @endpoint(schemas.SendersChanged, body=schemas.SenderRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.SenderRequest) -> Response:
        """Change the sender of sites.

        Rows that are being sent stay with the sender that has them; all others go to the new one, and none is sent by
        two. If Google may have rows whose result is open, `confirmOpenRows` is needed.
        """
        refuse_repeated("sites", params.sites)
        found = {site.public_id: site for site in administered_sites(request).filter(public_id__in=params.sites)}
        refuse_invalid({f"sites.{index}": NO_SUCH_SITE for index, name in enumerate(params.sites) if name not in found})
        plan = change_senders(
            request.user,
            [found[name] for name in params.sites],
            params.sender,
            is_confirmed=params.confirmOpenRows,
            note=f" {note_of(request)}",
            dry_run=params.dryRun,
        )
        if not params.confirmOpenRows:
            refuse_conflicts(
                {
                    f"sites.{index}": OPEN_ROWS.format(rows=each.open_rows, confirm="confirmOpenRows")
                    for index, each in enumerate(plan)
                    if each.open_rows and each.before != params.sender
                }
            )
        results = [
            {
                "index": index,
                "status": "unchanged" if each.before == params.sender else "changed",
                "publicId": each.site.public_id,
                "name": each.site.name,
                "before": each.before,
                "after": params.sender,
                "openRows": present(each.open_rows, schemas.OpenRows),
            }
            for index, each in enumerate(plan)
        ]
        return Response(summary(results, ("changed", "unchanged"), dry_run=params.dryRun))


class LoginView(AgencyView):
    errors = NOT_ALLOWED | CONFLICT | NO_SITE

    @endpoint(schemas.LoginShown, query=SiteRequest, scope=KeyScope.ADMIN)
    def get(self, request: Request, params: SiteRequest) -> Response:
        """Show which parts of a site's Google login are stored, and what its last test found."""
        return Response(present_login(find_site(administered_sites(request), params.siteId)))

    @endpoint(schemas.LoginStored, body=schemas.LoginRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: schemas.LoginRequest) -> Response:
        """Store a site's Google login.

        It is encrypted, and no answer repeats a value. A login is that of an OAuth client or of a service account;
        storing one removes the other. Conversion actions need the `customerId` beside them.
        """
        site = find_site(administered_sites(request), params.siteId)
        with transaction.atomic():
            # When two callers each replace a part, the second must see what the first stored.
            credentials = Credentials.objects.select_for_update().filter(site=site).first()
            account, _ = stored_login(credentials)
            change = read_change(params, asdict(account) if account else {})
            open_rows = unsettled_rows(site)
            if change.is_move and open_rows and not params.confirmMove:
                message = OPEN_ROWS.format(rows=open_rows, confirm="confirmMove")
                refuse_conflicts({"customerId": f"This is another Google account. {message}"})
            is_changed = change.account() != account
            if is_changed:
                store_login(request.user, site, change, open_rows, note=f" {note_of(request)}")
        return Response({**present_login(site), "status": "changed" if is_changed else "unchanged"})


class LoginTestView(AgencyView):
    errors = NOT_ALLOWED | NO_SITE | NO_LOGIN

    @endpoint(schemas.LoginShown, body=SiteRequest, scope=KeyScope.ADMIN)
    def post(self, request: Request, params: SiteRequest) -> Response:
        """Test a site's Google login.

        A worker tests it: get the login after some seconds, until the `status` of its `test` is not `waiting`.
        """
        site = find_site(administered_sites(request).active(), params.siteId)
        if not request_test(site):
            raise ApiError(409, "NO_CREDENTIALS", "No login is stored for the site.")
        return Response(present_login(site))


def read_change(params: schemas.LoginRequest, stored: dict[str, object]) -> LoginChange:
    """Return the change that a request asks for; the error names the fields of the request."""
    entered = {name: value for name, field in PARTS.items() if (value := getattr(params, field))}
    change = LoginChange(stored, entered, [NAMES[field] for field in params.remove if stored.get(NAMES[field])])
    if change.is_empty and not (params.remove and stored):  # what is removed already stays so
        refuse_invalid({"": "Send at least one part of the login."})
    change.check()
    refuse_invalid({PARTS[name]: message for name, message in change.faults.items()})
    return change


def present_login(site: Site) -> dict[str, object]:
    credentials = Credentials.objects.filter(site=site).first()
    account, error = stored_login(credentials)
    parts = stored_parts(account) if account else {}
    kind = ("serviceAccount" if account.service_account else "oauth") if account else None
    return {
        "siteId": site.public_id,
        "kind": kind,
        "parts": [PARTS[name] for name, is_stored in parts.items() if is_stored],
        "serviceAccountEmail": account.service_account_email if account else "",
        "error": error,
        "changedAt": credentials and credentials.changed_at,
        "test": present_test(credentials),
        "workerIsRunning": Heartbeat.objects.alive().exists(),
    }


def present_test(credentials: Credentials | None) -> dict[str, object]:
    if credentials is None:
        return {"status": "none", "requestedAt": None, "checkedAt": None, "findings": []}
    status = "passed" if credentials.check_passed else "none" if credentials.check_passed is None else "failed"
    is_waiting = Credentials.objects.awaiting_check().filter(pk=credentials.pk).exists()
    return {
        "status": "waiting" if is_waiting else status,
        "requestedAt": credentials.check_asked_at,
        "checkedAt": credentials.checked_at,
        "findings": list(map(english_values, credentials.check_report)),
    }
