from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "kilit.web"

    def ready(self) -> None:
        from kilit.web.metrics import BuildCollector  # noqa: PLC0415
        from kilit.workers.metrics import registry  # noqa: PLC0415

        registry.register(BuildCollector())
