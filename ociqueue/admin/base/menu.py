"""The items of conversions and sites in the menu."""

from django.utils.translation import gettext_lazy as _

from kilit.console.menu import MenuItem

CONVERSIONS_MENU = MenuItem(_("Conversions"), "ads_click", 10)
SITES_MENU = MenuItem(_("Sites"), "storefront", 20)
