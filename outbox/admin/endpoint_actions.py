"""What is done with an endpoint on its page: switch it on or off, rotate its secret, test it, replay a time span."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.formatting import new_key, number
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.fields import moment_field
from kilit.lock.audit import for_reason
from kilit.lock.models import ActivityKind
from kilit.lock.text import read_digits
from kilit.spans import moment
from outbox.admin.messages import RETRY, OutboxMessageAdmin
from outbox.endpoints import record_change, send_test, switch
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import ROTATION
from outbox.replaying import Replay, Span
from outbox.states import EXPIRES_AFTER, MessageStatus

REPLAY_SECONDS = 20.0  # of one request; the page offers to continue
SUGGESTED_SPAN = timedelta(hours=24)


class SpanForm(forms.Form):
    start = moment_field(gettext_lazy("From"))
    end = moment_field(gettext_lazy("To"))

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        start, end = cleaned.get("start"), cleaned.get("end")
        if start and end and start >= end:
            raise ValidationError(_("The end has to be after the beginning."))
        return cleaned


def switch_page(model_admin: ModelAdmin, request: HttpRequest, endpoint: Endpoint, *, on: bool) -> HttpResponse | None:
    name = {"endpoint": endpoint}
    if on:
        title, submit = _("Switch on %(endpoint)s?") % name, _("Switch on")
        done, already = _("%(endpoint)s is switched on.") % name, _("%(endpoint)s was on already.") % name
        sentences = [
            _("Messages that wait are sent, and events are reported from now on."),
            _("What happened while it was off is not sent automatically: replay that time span afterwards."),
        ]
    else:
        title, submit = _("Switch off %(endpoint)s?") % name, _("Switch off")
        done, already = _("%(endpoint)s is switched off.") % name, _("%(endpoint)s was off already.") % name
        sentences = [
            _("Events are not reported to it while it is off."),
            _("Messages that wait are kept for %(days)s days, then they fail.") % {"days": EXPIRES_AFTER.days},
        ]
    ids = _to_retry(endpoint, request.GET["retry"]) if on and "retry" in request.GET else []
    if ids:
        submit = _("Switch on and retry")
        sentences[0] = _("Messages that wait are sent, failed ones again: %(number)s.") % {"number": number(len(ids))}
    form = ReasonForm(request.POST or None, help_text=_("Shown in the activity, with your name."), most=200)
    if not form.is_valid():
        return model_admin.confirm(request, endpoint, title=title, sentences=sentences, form=form, submit=submit)
    if switch(endpoint, on=on, why=f": {form.cleaned_data['reason']}"):
        messages.success(request, done)
    else:
        messages.info(request, already)
    return _retry(request, ids, form.cleaned_data["reason"]) if ids else None


def _to_retry(endpoint: Endpoint, which: str) -> list[UUID]:
    """Return its failed messages with that id or error code, as many as one request may retry."""
    failed = OutboxMessage.objects.filter(endpoint=endpoint, status=MessageStatus.FAILED).order_by("pk")
    try:
        chosen = failed.filter(pk=UUID(which))
    except ValueError:
        chosen = failed.filter(error_code=which)
    return list(chosen.values_list("pk", flat=True)[: OutboxMessageAdmin.most_acted_on])


def _retry(request: HttpRequest, ids: list[UUID], reason: str) -> HttpResponse | None:
    with for_reason(reason):
        report = RETRY.perform(request.user, ids, {})
    messages.add_message(request, report.level, report.sentence)
    return HttpResponseRedirect(reverse("admin:outbox_outboxmessage_change", args=ids)) if len(ids) == 1 else None


@transaction.atomic
def rotate_secret(model_admin: ModelAdmin, request: HttpRequest, endpoint: Endpoint) -> HttpResponse | None:
    if request.method == "POST":
        Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)  # serializes two clicks
        endpoint.refresh_from_db()
        if request.POST.get("after", "") != _last_rotation(endpoint):
            messages.error(request, _("Nothing was changed: the secret was rotated after you opened the page."))
            return None
        secret = endpoint.rotate_secret()
        record_change(endpoint, "changed", "Rotated the signing secret.", kind=ActivityKind.KEY)
        until = moment(endpoint.previous_until) if endpoint.previous_until else ""
        sentence = _("Copy the new secret now; it cannot be viewed again. The old one signs too until %(time)s:")
        messages.warning(request, new_key(sentence % {"time": until}, secret))
        return None
    hours = {"hours": int(ROTATION.total_seconds() // 3600)}
    sentences = [
        _("Messages are signed with the new secret and the old one for %(hours)s hours.") % hours,
        _("Give the receiver the new secret within that time. It is shown once, on the next page."),
    ]
    if endpoint.previous_until and endpoint.previous_until > timezone.now():
        sentences.append(_("A rotation is under way: the secret before this one is not used any more from now on."))
    title = _("Rotate the secret of %(endpoint)s?") % {"endpoint": endpoint}
    kept = {"after": _last_rotation(endpoint)}
    return model_admin.confirm(request, endpoint, title=title, sentences=sentences, kept=kept, submit=_("Rotate"))


def _last_rotation(endpoint: Endpoint) -> str:
    return endpoint.previous_until.isoformat() if endpoint.previous_until else "none"


@transaction.atomic
def send_test_page(model_admin: ModelAdmin, request: HttpRequest, endpoint: Endpoint) -> HttpResponse | None:
    if not endpoint.is_on:
        messages.error(request, _("Switch the endpoint on first."))
        return None
    message = send_test(endpoint)
    record_change(endpoint, "changed", "Sent a test.")
    messages.success(request, _("The test is on its way. This page shows how it goes."))
    return HttpResponseRedirect(reverse("admin:outbox_outboxmessage_change", args=[message.pk]))


def replay_page(model_admin: ModelAdmin, request: HttpRequest, endpoint: Endpoint) -> HttpResponse | None:
    now, kept = timezone.now(), {}
    form = SpanForm(request.POST or None, initial={"start": now - SUGGESTED_SPAN, "end": now})
    if not endpoint.is_on:
        messages.error(request, _("Switch the endpoint on first."))
        return None
    if request.method == "POST" and form.is_valid():
        span, after = Span(form.cleaned_data["start"], form.cleaned_data["end"]), request.POST.get("after", "")
        result = Replay(endpoint, span).run(after=read_digits(after), seconds=REPLAY_SECONDS)
        record_change(endpoint, "changed", f"Replayed {span}.")
        values = {"replayed": number(result.replayed), "created": number(result.created)}
        done = _("Sent again: %(replayed)s messages. New: %(created)s, about events that had no message.") % values
        if result.resume_after is None:
            messages.success(request, done)
            return None
        more = _("There is more: replay again to continue.")
        messages.warning(request, f"{done} {more}")
        kept = {"after": str(result.resume_after)}
    sentences = [
        _("Messages of this time that were delivered or failed are sent again, under the same ids."),
        _("Events of its kinds that were not reported to it, because it was off, are reported now."),
    ]
    title = _("Replay a time span for %(endpoint)s") % {"endpoint": endpoint}
    return model_admin.confirm(
        request, endpoint, title=title, sentences=sentences, form=form, kept=kept, submit=_("Replay")
    )
