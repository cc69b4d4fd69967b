"""Forget a person: an identifier, then how much is found, then its erasure; and the list of records.

The identifier travels encrypted from one step to the next: it is in no address, and on no page after the first.
"""

import json
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import AnonymousUser, User
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.admin import ModelAdmin

from kilit.access.encryption import DecryptionError, decrypt, encrypt
from kilit.console.formatting import column, number
from kilit.console.lists.fields import SiteChoiceField, choice_field, text_field
from kilit.console.lists.listing import ListPage, ReadOnlyAdmin
from kilit.console.menu import RECORDS
from kilit.lock.free_text import estimate_texts
from ociqueue.models import Erasure, IdentifierKind, Site
from ociqueue.models.erasure import ErasureQuerySet
from ociqueue.operating.erasure import Person, SiteResult, find, forget

PROOF_MAX_AGE = 3600  # seconds between what was counted and its confirmation
SALT = "ociqueue.forget"
TITLE = gettext_lazy("Forget a person")
FORGET = "ociqueue.add_erasure"
MOST_TEXTS = 2_000_000  # that are read within one request, in about ten seconds


class ForgetForm(forms.Form):
    kind = choice_field(gettext_lazy("What you have"), IdentifierKind.choices)
    text = text_field(
        gettext_lazy("Value"),
        512,
        help_text=gettext_lazy("Phone numbers with their country code, as in +905321234567."),
    )
    site = SiteChoiceField(required=False, empty_label=gettext_lazy("All sites"))

    def __init__(self, data: Any, *, user: User | AnonymousUser) -> None:
        super().__init__(data)
        sites: Any = self.fields["site"]
        sites.offer(Site.objects.administered_by(user))

    def clean(self) -> None:
        data = self.cleaned_data
        if "text" in data and "kind" in data:
            try:
                data["person"] = Person(IdentifierKind(data["kind"]), data["text"])
            except ValueError as error:
                self.add_error("text", str(error))

    def without_value(self) -> "ForgetForm":
        self.data = {**self.data.dict(), "text": ""}  # type: ignore[attr-defined]
        return self


def forget_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    if estimate_texts() > MOST_TEXTS:
        text = _("There are too many texts to search them from here. Run “manage.py oci_forget” on the server.")
        messages.error(request, text)
        return HttpResponseRedirect(model_admin.address("changelist"))
    if "checked" in request.POST:
        return _forget(model_admin, request)
    form = ForgetForm(request.POST or None, user=request.user)
    if form.is_valid():
        return _confirm(model_admin, request, form)
    return model_admin.confirm(
        request,
        title=TITLE,
        sentences=[
            _("Removes what identifies a person from conversions that have ended, and from all texts that quote it."),
            _("The conversions stay, with their states, their history and their order numbers."),
        ],
        form=form.without_value() if form.is_bound else form,
        submit=_("Find conversions"),
    )


def _confirm(model_admin: ModelAdmin, request: HttpRequest, form: ForgetForm) -> HttpResponse:
    person, site = form.cleaned_data["person"], form.cleaned_data["site"]
    results = find(person, _sites(request, site and str(site.pk)))
    request_values = json.dumps([person.kind, person.text, str(site.pk) if site else "", request.user.pk])
    return model_admin.confirm(
        request,
        title=TITLE,
        sentences=[_found(results), _("This cannot be undone. Backups keep the data until they expire.")],
        rows=[
            {
                _("Site"): result.site.name,
                _("To erase"): number(result.erased),
                _("Not ended: left as they are"): number(result.left),
            }
            for result in results
        ],
        kept={"checked": signing.dumps(encrypt(request_values), salt=SALT)},
        submit=_("Erase"),
        is_dangerous=True,
    )


def _found(results: Sequence[SiteResult]) -> str:
    total = sum(result.erased for result in results)
    if not results:
        return _("No conversions were found. Reasons and notes that contain the value are erased.")
    text = ngettext("%(number)s conversion is erased.", "%(number)s conversions are erased.", total)
    return text % {"number": number(total)}


def _forget(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    try:
        request_values = json.loads(decrypt(signing.loads(request.POST["checked"], salt=SALT, max_age=PROOF_MAX_AGE)))
    except (signing.BadSignature, DecryptionError):
        request_values = ["", "", "", None]
    kind, text, site, user = request_values
    if user != request.user.pk:
        messages.error(request, _("Too much time has passed. Nothing was erased; please begin again."))
        return HttpResponseRedirect(model_admin.address("forget"))
    results = list(forget(Person(IdentifierKind(kind), text), _sites(request, site)))
    erased, left = sum(result.erased for result in results), sum(result.left for result in results)
    text = ngettext("Erased %(number)s conversion.", "Erased %(number)s conversions.", erased)
    messages.success(request, text % {"number": number(erased)})
    if left:
        text = _("%(number)s have not ended and were left as they are. Erase again when they have ended.")
        messages.warning(request, text % {"number": number(left)})
    if keys := sum(result.with_address for result in results):
        text = _(
            "The source keys of %(number)s contain an @ and stay. Let the shop send its own order numbers instead."
        )
        messages.warning(request, text % {"number": number(keys)})
    return HttpResponseRedirect(model_admin.address("changelist"))


def _sites(request: HttpRequest, site: str | None) -> list[Site]:
    own_sites = Site.objects.administered_by(request.user)
    sites = list(own_sites.filter(pk=site) if site else own_sites)
    if not sites:
        raise PermissionDenied
    return sites


who = column("who", gettext_lazy("who"), lambda row: row.actor)


@admin.register(Erasure)
class ErasureAdmin(ReadOnlyAdmin):
    menu = RECORDS.tab(1)
    list_display = ["created_at", "kind", "rows_erased", "rows_left", "site", who]
    list_display_links = None
    list_select_related = ["site"]
    list_pages = {"forget": ListPage(forget_page, TITLE, "forget", is_primary=True)}

    def get_queryset(self, request: HttpRequest) -> ErasureQuerySet:
        return Erasure.objects.visible_to(request.user)

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return bool(request.user.has_perm(FORGET))

    def has_forget_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request) and Site.objects.administered_by(request.user).exists()
