"""Django's list filters, built from a queue's declared ones; `kilit.console.lists.list_controls` shows them."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from kilit.bulk.filters import ChoiceFilter, DayFilter, Filter, FilterSet


class ChoiceListFilter(admin.SimpleListFilter):
    declared: ClassVar[ChoiceFilter]

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        self.user = request.user
        super().__init__(request, *args)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return self.declared.choices_for(self.user)

    def value(self) -> str | None:
        return str(super().value() or "").strip() or None

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return _narrow(queryset, self.declared, self.value(), self.user)


class TypedListFilter(admin.ListFilter):
    """One or more fields to type into."""

    declared: ClassVar[tuple[Filter, ...]]

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.expected_parameters():
            if name in params:
                value = params.pop(name)
                self.used_parameters[name] = (value if isinstance(value, str) else value[-1]).strip()

    def expected_parameters(self) -> list[str | None]:
        return [each.name for each in self.declared]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        for each in self.declared:
            queryset = _narrow(queryset, each, str(self.used_parameters.get(each.name, "")), request.user)
        return queryset


def list_filters(filters: FilterSet) -> list[type[admin.ListFilter]]:
    """Return unfold's list filters for declared ones; both ends of a span of days share one."""
    days = tuple(each for each in filters if isinstance(each, DayFilter))
    return [_list_filter(each, days) for each in filters if each not in days[1:]]


def _list_filter(declared: Filter, days: tuple[Filter, ...]) -> type[admin.ListFilter]:
    name = f"{declared.name.title()}ListFilter"
    match declared:
        case ChoiceFilter():
            about = {"title": declared.title, "parameter_name": declared.name, "declared": declared}
            return type(name, (ChoiceListFilter,), about)
        case DayFilter():
            return type(name, (TypedListFilter,), {"title": declared.title, "declared": days})
        case _:
            return type(name, (TypedListFilter,), {"title": declared.title, "declared": (declared,)})


def _narrow(rows: Any, declared: Filter, value: str | None, user: Any) -> Any:
    """Filter rows; a value that is not accepted matches nothing."""
    if not value:
        return rows
    return rows.filter(declared.condition(value)) if declared.accepts(value, user) else rows.none()
