"""Customers in the console: operators add the customer that a held order needs."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.batches.filters import SEARCH
from kilit.console.formatting import column, link
from kilit.console.lists.fields import text_field
from kilit.console.lists.listing import ListAdmin
from kilit.console.menu import OPERATORS, MenuItem
from kilit.masking import mask_phone
from kilit.postgres.collation import NameOrder
from kilit.problems.links import list_path, row_path
from orchestrator.admin.columns import STATES
from orchestrator.models import Customer, Job
from orchestrator.schemas.orders import InvalidOrder, NewCustomer, phone

JOBS_SHOWN = 10
DETAILS = ["phone", "name", "address", "tax_office", "tax_number"]


class CustomerForm(forms.ModelForm[Customer]):
    phone = text_field(_("Phone"), 40, help_text=_("Any format; kept as +905551234567."))

    class Meta:
        model = Customer
        fields = DETAILS

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        try:
            details = {name: value for name, value in cleaned.items() if value}
            return cleaned | NewCustomer.read(details).model_dump(exclude_none=True)
        except InvalidOrder as invalid:
            for error in invalid.errors:
                if error["field"] in cleaned:  # the form itself reports what is missing
                    self.add_error(error["field"], gettext(error["message"]))
            return cleaned


masked_phone = column("masked_phone", _("phone"), lambda customer: mask_phone(customer.phone))


@admin.register(Customer)
class CustomerAdmin(ListAdmin):
    menu = MenuItem(_("Customers"), "contacts", 50, OPERATORS)
    is_searched = True  # by Ctrl+K
    form = CustomerForm
    list_display = ["full_name", masked_phone, "created_at"]
    search_fields = ["name__words"]
    search_help_text = _("A name, or a complete phone number")
    actions = None
    readonly_fields = ["jobs"]

    def get_object(self, *args: Any, **options: Any) -> Any:
        """Keep the newest jobs of the number with it: a page asks for each of its fields several times."""
        customer: Any = super().get_object(*args, **options)
        if customer:
            jobs = Job.objects.filter(customer_phone=customer.phone).order_by("-id")
            customer.newest_jobs = jobs.only("order_id", "status")[:JOBS_SHOWN]
        return customer

    @admin.display(description=_("newest jobs"))
    def jobs(self, customer: Any) -> SafeString:
        """List them, with their states; the link shows all."""
        rows = [(link(row_path(job), job.order_id), STATES.badge(job.status)) for job in customer.newest_jobs]
        everything = link(list_path(Job, **{SEARCH: customer.phone}), gettext("All jobs"))
        return format_html("{}{}", format_html_join("", "<p>{} {}</p>", rows), everything)

    def get_fields(self, request: HttpRequest, obj: Customer | None = None) -> list[str]:
        may_see = obj is not None and request.user.has_perm("orchestrator.view_job")
        return [*DETAILS, *(["jobs"] if may_see else [])]

    def get_ordering(self, request: HttpRequest) -> list[object]:
        return [NameOrder("name").asc()]

    @admin.display(description=_("name"), ordering=NameOrder("name"))
    def full_name(self, customer: Customer) -> str:
        return customer.name

    def describe_result(self, customer: Customer) -> tuple[str, ...]:
        return customer.name, mask_phone(customer.phone)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        try:
            return queryset.filter(phone=phone(search_term)), False
        except ValueError:
            return super().get_search_results(request, queryset, search_term)

    def has_change_permission(self, request: HttpRequest, obj: Customer | None = None) -> bool:
        return request.user.has_perm("orchestrator.operate_customer")

    has_add_permission = has_change_permission

    def has_delete_permission(self, request: HttpRequest, obj: Customer | None = None) -> bool:
        return False
