"""PgBouncer and HAProxy, as each application machine has them."""

from contextlib import suppress

import psycopg

from tests.support.commands import free_port
from tests.support.waiting import wait_until
from tests.system.ha import configuration, packages
from tests.system.ha.cluster import Cluster


class Pooling:
    """The way from the services of one application machine to whichever server leads."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        """Choose ports, and write the configuration."""
        self.cluster, self.number = cluster, number
        self.port, self.leader_port = free_port(), free_port()
        self.folder = cluster.daemons.folder_for(f"pooling-{number}")

    def start(self) -> None:
        """Start both."""
        daemons, passwords = self.cluster.daemons, self.cluster.passwords
        settings = daemons.write(
            self.folder / "haproxy.cfg", configuration.haproxy(self.leader_port, self.cluster.nodes)
        )
        daemons.start(f"haproxy-{self.number}", packages.program("haproxy"), "-db", "-f", settings)
        daemons.write(self.folder / "users.txt", f'"kilit" "{passwords.kilit}"\n')
        text = configuration.pgbouncer(self.port, haproxy=self.leader_port, folder=self.folder)
        settings = daemons.write(self.folder / "pgbouncer.ini", text)
        daemons.start(f"pgbouncer-{self.number}", packages.program("pgbouncer"), settings)
        wait_until(self.answers)

    def answers(self) -> bool:
        """Return whether the leader can be reached."""
        self.cluster.daemons.check()
        with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=5):
            return True
        return False

    @property
    def url(self) -> str:
        """DATABASE_URL of the services: pooled."""
        return configuration.database_url(self.port, self.cluster.passwords)

    @property
    def direct_url(self) -> str:
        """DATABASE_URL of `manage.py migrate` and of the checks: a connection of their own."""
        return configuration.database_url(self.leader_port, self.cluster.passwords)
