"""Raises the limits of a process that a test starts."""

from django.apps import AppConfig


class PatientConfig(AppConfig):
    name = "tests.patient"

    def ready(self) -> None:
        from tests.patient.limits import be_patient

        be_patient()
