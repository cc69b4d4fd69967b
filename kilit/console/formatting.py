"""Badges, buttons and plain pages, made of unfold's parts and typed."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib.admin import display
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.db.models.expressions import Combinable
from django.http import Http404, HttpRequest
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.formats import date_format, number_format
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise

from kilit.batches.queues import queues
from kilit.machine_errors import explain, in_words
from kilit.masking import mask_personal_data
from kilit.spans import distance, format_span

if TYPE_CHECKING:
    from unfold.admin import ModelAdmin


def badge(text: str, colour: str = "", *, title: str = "", href: str = "") -> SafeString:
    tooltip = format_html(' title="{}"', title) if title else ""
    look = f"kilit-badge kilit-badge-{colour or 'plain'}"
    if href:
        return format_html('<a href="{}" class="{}"{}>{}</a>', href, look, tooltip, text)
    return format_html('<span class="{}"{}>{}</span>', look, tooltip, text)


def code_badge(code: str, colour: str = "") -> SafeString:
    """Return a state or a code as a badge: a word of the API, English in every language."""
    return format_html('<span lang="en" class="kilit-badge kilit-badge-{}">{}</span>', colour or "plain", code)


def two_lines(first: str, second: str, *, title: str = "") -> SafeString:
    return format_html(
        '<span title="{}"><b class="kilit-first">{}</b> <small class="kilit-second">{}</small></span>',
        title or second,
        first,
        second,
    )


def with_code(words: str, code: str) -> SafeString:
    """Return an error in words, and the API's name of it small beside them."""
    if not (words and code):
        return escape(words or code)
    parts = format_html_join(SafeString("_<wbr>"), "{}", ((word,) for word in code.split("_")))
    return format_html('{} <small lang="en" class="kilit-error-code">{}</small>', words, parts)


def breakable(text: str) -> SafeString:
    """Return a long word that a narrow screen may break anywhere."""
    return format_html_join(SafeString("<wbr>"), "{}", ((text[at : at + 8],) for at in range(0, len(text), 8)))


def error_cell(row: Any, code: str, text: str) -> SafeString | str:
    """Return an error in words; its text, masked, is in the tooltip, and opens by click, touch and keyboard."""
    if not code:
        return "-"
    text = mask_personal_data(text)
    words = with_code(queues[row.lifecycle.queue].words(code, row.status), code)
    if not text:
        return format_html('<span class="kilit-more">{}</span>', words)
    return format_html(
        '<details class="kilit-more"><summary title="{}">{}</summary><div>{}</div></details>',
        explain(text),
        words,
        in_words(text),
    )


def link(href: str, text: str) -> SafeString:
    return format_html('<a href="{}" class="font-medium text-primary-600 dark:text-primary-500">{}</a>', href, text)


def joined(*parts: object) -> SafeString:
    return format_html_join(" · ", "{}", ((part,) for part in parts if part))


def verbatim(text: str) -> SafeString:
    return format_html('<pre class="break-words font-mono text-xs whitespace-pre-wrap">{}</pre>', text)


def exactly(time: datetime) -> str:
    return date_format(localtime(time), "DATETIME_FORMAT")


TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})")


def with_local_times(text: str) -> str:

    def localized(match: re.Match[str]) -> str:
        try:
            return exactly(datetime.fromisoformat(match[0]))
        except (ValueError, OverflowError):  # it only looks like one
            return match[0]

    return TIMESTAMP.sub(localized, text)


def since(time: datetime) -> SafeString:
    return format_html('<span class="whitespace-nowrap" title="{}">{}</span>', exactly(time), distance(time))


def duration(span: timedelta) -> str:
    """Return a span with seconds, where minutes are too coarse."""
    if span >= timedelta(minutes=1):
        return format_span(span)
    seconds = max(0, round(span.total_seconds()))
    if not seconds:
        return _("less than a second")
    return ngettext("%(number)d second", "%(number)d seconds", seconds) % {"number": seconds}


def number(value: int) -> str:
    return number_format(value, force_grouping=True)


def counted(rows: int, model: type[Model]) -> str:
    """Return how many rows there are, with their name: Turkish has no plural after a number."""
    opts = model._meta
    # xgettext:no-python-format (its plural has another name)
    text = ngettext("%(number)s %(name)s", "%(number)s %(names)s", rows)
    words = text % {"number": number(rows), "name": opts.verbose_name, "names": opts.verbose_name_plural}
    return words.replace(" İ", " i")  # a Turkish name begins with the capital that capfirst would not make


def column(
    name: str,
    label: StrOrPromise,
    show: Callable[[Any], object],
    *,
    order: str | Combinable | None = None,
    sort_key: Callable[[Any], Any] | None = None,
) -> Callable[[Any], Any]:
    """Return a function as a column or field of an admin; pages and style sheets know it by its name.

    A list can be sorted by it if an index gives the `order`, or by the `sort_key` of its rows while they are few.
    """

    @display(description=label, ordering=order)
    def cell(row: Any) -> object:
        return show(row)

    cell.__name__ = name
    cell.sort_key = sort_key  # type: ignore[attr-defined] # read by lists
    return cell


# Ids sort by time.
age = column("age", gettext_lazy("age"), lambda row: since(row.created_at), order="id")


def fieldset(title: StrOrPromise | None, *fields: object) -> tuple[Any, dict[str, Any]]:
    return title, {"fields": list(fields)}


def new_key(sentence: str, text: str) -> SafeString:
    """Return a message with a key that is shown once, and a button that copies it."""
    return with_copy_button(sentence, text, what=_("the new key"))


def with_copy_button(sentence: str, text: str, *, what: str) -> SafeString:
    button = render_to_string("admin/console/copy.html", {"text": text, "what": what})
    return format_html("{} <code>{}</code> {}", sentence, text, button)


def find_object(model_admin: "ModelAdmin", request: HttpRequest, object_id: str, *, permission: str = "view") -> Any:
    """Return an object that the user may see, or act on; those of others are not found."""
    row = model_admin.get_object(request, unquote(object_id))
    if row is None:
        raise Http404
    if not getattr(model_admin, f"has_{permission}_permission")(request, row):
        raise PermissionDenied
    return row


def page(
    model_admin: "ModelAdmin",
    request: HttpRequest,
    template: str,
    *,
    title: str,
    is_own_page: bool = False,
    **context: object,
) -> TemplateResponse:
    """Return a console page that is neither a list nor a form of a model.

    Its breadcrumb ends with its title, unless it is the page of `original` itself.
    """
    request.current_app = model_admin.admin_site.name
    everywhere = model_admin.admin_site.each_context(request)
    shown = {"title": title, "crumb": "" if is_own_page else title}
    return TemplateResponse(request, template, {**everywhere, "opts": model_admin.opts, **shown, **context})
