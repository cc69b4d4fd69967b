"""The last audits, and what they found."""

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.audit.models import Audit
from kilit.audit.run import describe
from kilit.console.formatting import column, number
from kilit.console.lists.listing import ReadOnlyAdmin
from kilit.console.menu import RECORDS

COUNTS = [
    column("moves", _("moves"), lambda record: number(record.moves)),
    column("jobs", _("jobs"), lambda record: number(record.jobs)),
    column("breach_count", _("breaches"), lambda record: number(record.breach_count)),
]


@admin.register(Audit)
class AuditAdmin(ReadOnlyAdmin):
    menu = RECORDS.tab(5)
    list_display = ["finished_at", *COUNTS, "is_full"]
    fields = ["started_at", *list_display, "breach_lines"]
    readonly_fields = [*COUNTS, "breach_lines"]
    search_fields = []

    @admin.display(description=_("what is wrong"))
    def breach_lines(self, record: Audit) -> SafeString | str:
        lines = [(describe(breach),) for breach in record.breaches]
        return format_html_join("", "<div>{}</div>", lines) if lines else gettext("nothing")
