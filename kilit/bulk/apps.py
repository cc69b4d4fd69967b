from django.apps import AppConfig


class BulkConfig(AppConfig):
    name = "kilit.bulk"

    def ready(self) -> None:
        from kilit.bulk import running  # noqa: PLC0415

        running.register()
