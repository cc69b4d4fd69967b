"""Parcels, as a Django app with a bell and a sweep."""

from django.apps import AppConfig


class ParcelsConfig(AppConfig):
    name = "tests.apps.parcels"
    label = "parcels"
