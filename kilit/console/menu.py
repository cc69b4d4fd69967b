"""What the menu is made of: an item has one page, or several as tabs. Each admin names its place as its `menu`."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

# Who has an item, by a permission of that role. Others may see its pages, and come there by links.
OPERATORS = "workers.operate_sweeprun"
ADMINS = "access.view_apikey"


@dataclass(frozen=True)
class MenuItem:
    title: StrOrPromise
    icon: str  # of Material Symbols
    place: int
    permission: str = ""
    is_personal: bool = False  # those without the item find its page in the menu of their account

    def tab(self, place: int, title: StrOrPromise = "", *, is_offered: bool = True) -> "MenuTab":
        return MenuTab(self, place, title, is_offered)


@dataclass(frozen=True)
class MenuTab:
    item: MenuItem
    place: int = 0
    title: StrOrPromise = ""  # the name of its rows, unless it says otherwise
    is_offered: bool = True  # False: its pages belong to the item, but links lead there


DASHBOARD = MenuItem(_("Dashboard"), "dashboard", 0)
# Queues are from 10 to 69.
ACTIVITY = MenuItem(_("Activity"), "manage_search", 70)
WORKERS = MenuItem(_("Workers"), "monitor_heart", 80, OPERATORS)
PEOPLE = MenuItem(_("People"), "group", 100, ADMINS)
ALERTS = MenuItem(_("Alerts"), "notifications", 110, ADMINS, is_personal=True)
RECORDS = MenuItem(_("Records"), "inventory_2", 120, ADMINS)
