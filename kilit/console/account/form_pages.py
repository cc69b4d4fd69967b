"""What pages with a form of Django's or our own have in common: the console's look."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from unfold.widgets import BASE_INPUT_CLASSES

INPUT = " ".join(BASE_INPUT_CLASSES)


@method_decorator(never_cache, name="dispatch")
class FormPage:
    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        response: HttpResponseBase = super().dispatch(request, *args, **options)  # type: ignore[misc]
        return response

    def get_context_data(self, **context: object) -> dict[str, Any]:
        shared = admin.site.each_context(self.request)
        return {**shared, **super().get_context_data(**context)}  # type: ignore[misc]

    def get_form(self, *args: object) -> Any:
        form = super().get_form(*args)  # type: ignore[misc]
        for field in form.fields.values():
            field.widget.attrs["class"] = INPUT
        return form


def back_to_page(request: HttpRequest, default: str) -> HttpResponseRedirect:
    """Return to the page that the form names as `next`, if it is one of ours."""
    page = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(page, allowed_hosts=None)
    return HttpResponseRedirect(page if is_ours else default)
