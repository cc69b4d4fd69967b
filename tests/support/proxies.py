"""nginx and Caddy as processes, with the very files of deploy/; only addresses, ports and folders are the test's."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from getpass import getuser
from pathlib import Path

import pytest

from kilit.workers.processes import kill_family
from simulators.googleads.server import make_certificate
from tests.support.commands import ROOT, free_port
from tests.support.slow_clients import TRUSTING
from tests.support.waiting import PATIENCE, wait_until

# Debian has nginx where only root's path leads.
PROGRAMS = {name: shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("nginx", "caddy")}
Proxy = Callable[..., AbstractContextManager[int]]


@contextmanager
def _running(command: list[str], folder: Path, port: int, **variables: str) -> Iterator[int]:
    with (folder / "access.log").open("a") as log:
        process = subprocess.Popen(command, env={**os.environ, **variables}, stderr=log, start_new_session=True)
    try:
        wait_until(lambda: process.poll() is not None or _speaks_tls(port))
        assert process.poll() is None, "the proxy has ended"
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
        kill_family(process.pid)


@contextmanager
def nginx(folder: Path, *, web: int, static: Path | None = None) -> Iterator[int]:
    """Run nginx in front of the web server at this port until the block ends; yield its own port."""
    port = free_port()
    key, certificate = make_certificate(folder)
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for theirs, ours in {
        "user www-data;": f"user {getuser()};",
        "/run/nginx.pid": f"{folder}/nginx.pid",
        "/var/log/nginx/": f"{folder}/",
        "listen 80 default_server;": f"listen 127.0.0.1:{free_port()} default_server;",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "    listen [::]:80 default_server;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "server_name kilit.example.com;": "server_name localhost;",
        "/etc/letsencrypt/live/kilit.example.com/fullchain.pem": certificate,
        "/etc/letsencrypt/live/kilit.example.com/privkey.pem": key,
        "127.0.0.1:8000": f"127.0.0.1:{web}",
        "/srv/kilit/static/": f"{static or folder}/",
        # Debian's package has its folders for buffered bodies where root alone may write.
        "server_tokens off;": "".join(
            f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        ),
    }.items():
        assert theirs in text
        text = text.replace(theirs, str(ours))
    (folder / "nginx.conf").write_text(text)
    command = [str(PROGRAMS["nginx"]), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with _running(command, folder, port):
        yield port


@contextmanager
def caddy(folder: Path, *, web: int, static: Path | None = None) -> Iterator[int]:
    """Run Caddy likewise, with a certificate that it makes itself."""
    port = free_port()
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    assert "/srv/static" in text
    (folder / "Caddyfile").write_text(text.replace("/srv/static", str(static or folder)))
    command = [str(PROGRAMS["caddy"]), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    variables = {
        "KILIT_HOST": "localhost",
        "KILIT_WEB": f"127.0.0.1:{web}",
        "KILIT_HTTP_PORT": str(free_port()),
        "KILIT_HTTPS_PORT": str(port),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    with _running(command, folder, port, **variables):
        yield port


def _speaks_tls(port: int) -> bool:
    """Tell whether it has its certificate, which Caddy makes after it listens."""
    try:
        with socket.create_connection(("127.0.0.1", port)) as channel:
            TRUSTING.wrap_socket(channel, server_hostname="localhost").close()
    except OSError:
        return False
    return True


PROXIES: dict[str, Proxy] = {"nginx": nginx, "caddy": caddy}


BOTH = ONLY_NGINX, _ = [
    pytest.param(proxy, id=name, marks=pytest.mark.skipif(not PROGRAMS[name], reason=f"needs {name} on the path"))
    for name, proxy in PROXIES.items()
]
