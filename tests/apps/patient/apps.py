"""Raises the limits of a process that a test starts."""

from django.apps import AppConfig


class PatientConfig(AppConfig):
    name = "tests.apps.patient"

    def ready(self) -> None:
        from tests.apps.patient.limits import be_patient

        be_patient()
