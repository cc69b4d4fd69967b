"""What the pages wear: badges, buttons and plain pages, made of unfold's own parts and given types."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, cast

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.timezone import localtime
from unfold.decorators import action
from unfold.enums import ActionVariant

from orchestrator.states import State

Method = TypeVar("Method", bound=Callable[..., Any])

COLOURS = {
    State.NEW: "info",
    State.PREPARED: "primary",
    State.OPTI_IMPORTED: "primary",
    State.OPTI_RUNNING: "primary",
    State.OPTI_DONE: "primary",
    State.XML_READY: "primary",
    State.DELIVERED: "success",
    State.DONE: "success",
    State.HOLD: "warning",
    State.FAILED: "danger",
}


def badge(text: str, colour: str = "", *, title: str = "") -> SafeString:
    """Return a word on a colour; never the colour alone."""
    return render_to_string("unfold/helpers/label.html", {"text": text, "type": colour, "label_title": title})


def state_badge(status: str) -> SafeString:
    """Return a state as all pages show it."""
    return badge(status, COLOURS[State(status)])


def two_lines(first: str, second: str, *, title: str = "") -> SafeString:
    """Return a cell with a main line and a quiet one below."""
    return format_html(
        '<span title="{}"><span class="block whitespace-nowrap">{}</span>'
        '<span class="block text-subtle text-xs whitespace-nowrap">{}</span></span>',
        title,
        first,
        second,
    )


def since(time: datetime) -> SafeString:
    """Return how long ago it was, and exactly when under the pointer."""
    exact = date_format(localtime(time), "DATETIME_FORMAT")
    return format_html('<span class="whitespace-nowrap" title="{}">{}</span>', exact, timesince(time, depth=1))


def button(*, icon: str, danger: bool = False, **options: Any) -> Callable[[Method], Method]:
    """Put a method on a page as a button with an address of its own."""
    variant = ActionVariant.DANGER if danger else ActionVariant.DEFAULT
    return cast("Callable[[Method], Method]", action(icon=icon, variant=variant, **options))


def page(model_admin: Any, request: HttpRequest, template: str, *, title: str, **context: Any) -> TemplateResponse:
    """Return a page of the console that is neither a list nor a form of a model."""
    request.current_app = model_admin.admin_site.name
    everywhere = model_admin.admin_site.each_context(request)
    return TemplateResponse(
        request, f"admin/{template}", {**everywhere, "opts": model_admin.opts, "title": title, **context}
    )
