"""On a busy machine a browser takes longer to start than the product allows. Tests with browsers say that they wait.

Processes use `tests.apps.patient.settings`; renderers inside the test process get `be_patient()`.
"""
