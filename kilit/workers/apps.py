from django.apps import AppConfig


class WorkersConfig(AppConfig):
    name = "kilit.workers"

    def ready(self) -> None:
        from kilit.workers import heartbeat, sweeps  # noqa: PLC0415

        heartbeat.connect()
        sweeps.register_own()
