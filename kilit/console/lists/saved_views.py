"""Saving the filters of a list under a name, and deleting such a view."""

from contextlib import suppress

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.exceptions import NotRegistered
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from kilit.batches.filters import SEARCH
from kilit.console.lists.listing import ListAdmin
from kilit.console.models import SavedView
from kilit.lock.text import strip_control_chars

MOST_VIEWS = 20  # of one list and user
SORTED_BY = "o"
LONGEST_NAME = 60


@require_POST
def saved_views(request: HttpRequest) -> HttpResponse:
    model_admin = _admin_of(request.POST.get("listed", ""))
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    own_views = SavedView.objects.filter(user=request.user.pk, listed=model_admin.opts.label_lower)
    query = _known(model_admin, QueryDict(request.POST.get("query", "")))
    name = strip_control_chars(request.POST.get("name", "")).strip()[:LONGEST_NAME]
    if "delete" in request.POST:
        own_views.filter(name=name).delete()
    elif not name or not query:
        messages.error(request, _("Set a filter and give the view a name."))
    elif own_views.exclude(name=name).count() >= MOST_VIEWS:
        messages.error(request, _("At most %(most)s views of a list. Delete one first.") % {"most": MOST_VIEWS})
    else:
        view = {"user_id": request.user.pk, "listed": model_admin.opts.label_lower, "name": name}
        SavedView.objects.update_or_create(**view, defaults={"query": query})
        messages.success(request, _("View “%(name)s” saved.") % {"name": name})
    return HttpResponseRedirect(model_admin.address("changelist") + (f"?{query}" if query else ""))


def _admin_of(label: str) -> ListAdmin:
    with suppress(LookupError, ValueError, NotRegistered):
        model_admin = admin.site.get_model_admin(apps.get_model(label))
        if isinstance(model_admin, ListAdmin):
            return model_admin
    raise BadRequest(_("There is no such list."))


def _known(model_admin: ListAdmin, query: QueryDict) -> str:
    """Return the filters of the list alone, so that an address holds nothing else."""
    names = (*model_admin.filters.names, SEARCH, SORTED_BY)
    values = {name: str(query[name]) for name in names if query.get(name)}
    return urlencode(values)[:2000]
