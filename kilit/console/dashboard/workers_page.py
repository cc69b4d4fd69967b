"""Supervisors, runners, doorbells and scheduled tasks, instead of django-q2's own pages."""

from typing import cast

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kilit.lock.clock import database_time
from kilit.problems.processes import Workers
from kilit.problems.workers import PERMISSIONS
from kilit.workers.models import Heartbeat, SweepRun
from kilit.workers.sweeps import make_due, sweeps


def may_see_workers(request: HttpRequest) -> bool:
    return request.user.has_perms(PERMISSIONS)


def may_run_tasks(request: HttpRequest) -> bool:
    return may_see_workers(request) and request.user.has_perm("workers.operate_sweeprun")


@require_safe
@never_cache
def workers_page(request: HttpRequest) -> HttpResponse:
    if not may_see_workers(request):
        raise PermissionDenied
    now = database_time()
    request.current_app = admin.site.name
    context = {
        "title": _("Workers"),
        "now": now,
        "workers": Workers.seen_at(now),
        "may_run": may_run_tasks(request),
        "is_fullwidth": "1",
    }
    return TemplateResponse(request, "admin/console/workers.html", {**admin.site.each_context(request), **context})


def run_task(request: HttpRequest, name: str) -> HttpResponse:
    if not may_run_tasks(request):
        raise PermissionDenied
    if name not in sweeps:
        raise Http404
    if request.method == "POST":  # logging in again leads here without the form
        with transaction.atomic():
            is_due = make_due(name)
            if is_due:
                run = SweepRun.objects.filter(name=name)
                user = cast("User", request.user)
                LogEntry.objects.log_actions(user.pk, run, CHANGE, "Run now.", single_object=True)
        if not is_due:
            messages.warning(request, _("%(task)s is running already.") % {"task": name})
        elif Heartbeat.objects.alive().exists():
            messages.success(request, _("%(task)s is due now; a worker runs it.") % {"task": name})
        else:
            messages.warning(request, _("%(task)s is due now. It runs when a worker is started.") % {"task": name})
    return HttpResponseRedirect(f"{reverse('console:workers')}#sweep-{name}")
