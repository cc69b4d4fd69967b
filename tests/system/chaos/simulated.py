"""Everything outside that a run talks to: both of Google's APIs, and a receiver of webhooks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.system.chaos.world import SECRET

if TYPE_CHECKING:
    from simulators.datamanager.server import DataManagerServer
    from simulators.googleads.server import GoogleAdsServer
    from simulators.webhooks.receiver import WebhookReceiver


@dataclass
class Outside:
    """Servers in this process, on loopback."""

    google: "GoogleAdsServer"
    data_manager: "DataManagerServer"
    receiver: "WebhookReceiver"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point the product to them."""
        return {**self.data_manager.environment, **self.google.environment}

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator["Outside"]:
        """Start them, and stop them at the end."""
        from simulators.datamanager.server import DataManagerServer
        from simulators.googleads.server import GoogleAdsServer
        from simulators.webhooks.receiver import WebhookReceiver

        found = cls(GoogleAdsServer(folder).start(), DataManagerServer().start(), WebhookReceiver([SECRET]).start())
        try:
            yield found
        finally:
            for server in (found.google, found.data_manager, found.receiver):
                server.stop()
