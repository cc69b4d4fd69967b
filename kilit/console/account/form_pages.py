"""What pages with a form of Django's or our own have in common: the console's look."""

from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.generic import View
from django.views.generic.base import ContextMixin
from unfold.widgets import BASE_INPUT_CLASSES


@method_decorator(never_cache, name="dispatch")
class FormPage(ContextMixin, View):
    def is_offered(self) -> bool:
        return True

    def setup(self, request: HttpRequest, *args: object, **options: object) -> None:
        super().setup(request, *args, **options)
        if not self.is_offered():
            raise Http404

    def dispatch(self, request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        return super().dispatch(request, *args, **options)

    def get_context_data(self, **context: object) -> dict[str, Any]:
        page_context = {**admin.site.each_context(self.request), **super().get_context_data(**context)}
        form = page_context.get("form")
        for field in form.fields.values() if form else ():
            field.widget.attrs.setdefault("class", " ".join(BASE_INPUT_CLASSES))
        return page_context


def back_to_page(request: HttpRequest, default: str) -> HttpResponseRedirect:
    """Return to the page that the form names as `next`, if it is one of ours."""
    page = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(page, allowed_hosts=None)
    return HttpResponseRedirect(page if is_ours else default)
