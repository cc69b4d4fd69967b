"""The configuration files of a run. docs/high-availability.md has the same for machines of their own."""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.commands import free_port

HOST = "127.0.0.1"
# A leader that is gone is replaced when its lease of `ttl` seconds ends: Patroni's defaults are 30, 10 and 10. It needs
# loop_wait + 2 * retry_timeout <= ttl, or a slow etcd alone would demote a healthy leader.
TIMING = {"ttl": 20, "loop_wait": 2, "retry_timeout": 5}


@dataclass(frozen=True)
class Passwords:
    """Passwords of one run."""

    postgres: str = field(default_factory=lambda: secrets.token_hex(16))
    replicator: str = field(default_factory=lambda: secrets.token_hex(16))
    kilit: str = field(default_factory=lambda: secrets.token_hex(16))
    patroni: str = field(default_factory=lambda: secrets.token_hex(16))


@dataclass(frozen=True)
class Node:
    """A PostgreSQL server and its Patroni."""

    name: str
    folder: Path
    port: int = field(default_factory=free_port)
    api: int = field(default_factory=free_port)

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder."""
        return self.folder / "data"


def patroni(node: Node, *, etcd: int, programs: Path, passwords: Passwords) -> str:
    """Return Patroni's configuration; JSON is YAML."""
    rights = "host all all 127.0.0.1/32 scram-sha-256", "host replication replicator 127.0.0.1/32 scram-sha-256"
    shared: dict[str, Any] = {
        **TIMING,
        "synchronous_mode": True,
        "postgresql": {
            "use_pg_rewind": True,
            "parameters": {"max_connections": 150, "wal_keep_size": "256MB", "shared_buffers": "128MB"},
        },
    }
    return json.dumps(
        {
            "scope": "kilit",
            "name": node.name,
            "etcd3": {"hosts": f"{HOST}:{etcd}"},
            "restapi": {
                "listen": f"{HOST}:{node.api}",
                "connect_address": f"{HOST}:{node.api}",
                "authentication": {"username": "patroni", "password": passwords.patroni},
            },
            "bootstrap": {
                "dcs": shared,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"{HOST}:{node.port}",
                "connect_address": f"{HOST}:{node.port}",
                "data_dir": str(node.data),
                "bin_dir": str(programs),
                "pgpass": str(node.folder / "pgpass"),
                "pg_hba": rights,
                "parameters": {"unix_socket_directories": str(node.folder)},
                "authentication": {
                    "superuser": {"username": "postgres", "password": passwords.postgres},
                    "replication": {"username": "replicator", "password": passwords.replicator},
                    "rewind": {"username": "postgres", "password": passwords.postgres},
                },
            },
            "watchdog": {"mode": "off"},
        },
        indent=1,
    )


def haproxy(port: int, nodes: list[Node]) -> str:
    """Return HAProxy's configuration: connections go to the server whose Patroni says that it leads."""
    servers = [f"  server {node.name} {HOST}:{node.port} check port {node.api}" for node in nodes]
    return "\n".join([HAPROXY.format(host=HOST, port=port), *servers, ""])


# A server that no longer leads loses its connections at once: they would find it read-only.
HAPROXY = """\
global
  maxconn 1000
defaults
  mode tcp
  timeout connect 3s
  timeout client 30m
  timeout server 30m
  timeout check 2s
  retries 1
listen leader
  bind {host}:{port}
  option httpchk
  http-check send meth GET uri /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions"""


def pgbouncer(port: int, *, haproxy: int, folder: Path) -> str:
    """Return PgBouncer's configuration."""
    return PGBOUNCER.format(host=HOST, port=port, haproxy=haproxy, folder=folder)


# Without a leader HAProxy refuses connections. PgBouncer then reports it, tries again every second (15 by default), and
# lets no request wait longer than the callers of Kilit do (120 s by default).
PGBOUNCER = """\
[databases]
kilit = host={host} port={haproxy}

[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 20
max_client_conn = 200
server_login_retry = 1
server_connect_timeout = 5
query_wait_timeout = 5
"""


def database_url(port: int, passwords: Passwords) -> str:
    """Return Kilit's DATABASE_URL by way of PgBouncer or HAProxy."""
    return f"postgres://kilit:{passwords.kilit}@{HOST}:{port}/kilit"
