"""Container, compose file and units run what the Procfile runs, unprivileged, with enough time to stop."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.urls import reverse

from config.local.stack import procfile
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
SERVICES = dict(procfile(ROOT))
UNITS = {"web": "kilit-web.service", "worker": "kilit-worker@.service", "runner": "kilit-runner.service"}
GUNICORN = (ROOT / "config" / "web" / "gunicorn.py").read_text()
# How long each may need to finish what it has begun, in seconds.
GRACE = {
    "web": int(re.search(r"^graceful_timeout = (\d+)", GUNICORN, re.MULTILINE)[1]),
    "worker": settings.TASK_TIMEOUT + 5,
    "runner": 30,
}


def unit(name: str) -> dict[str, str]:
    lines = (DEPLOY / "systemd" / name).read_text().splitlines()
    return {key: value for key, sign, value in (line.partition("=") for line in lines) if sign and key[:1] != "#"}


def read(name: str) -> str:
    return (DEPLOY / name).read_text()


@pytest.mark.parametrize("service", SERVICES)
def test_every_door_runs_the_procfiles_command(service: str) -> None:
    assert " ".join(COMPOSE[service]["command"]) == SERVICES[service]
    assert unit(UNITS[service])["ExecStart"] == f"/opt/kilit/.venv/bin/{SERVICES[service]}"


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_is_given_the_time_to_finish(service: str) -> None:
    assert int(COMPOSE[service]["stop_grace_period"].removesuffix("s")) > GRACE[service]
    assert int(unit(UNITS[service])["TimeoutStopSec"]) > GRACE[service]
    # A signal to the whole group would cut running tasks off.
    assert unit(UNITS[service])["KillMode"] == "mixed"


@pytest.mark.parametrize("service", SERVICES)
def test_nothing_runs_as_root_or_may_become_it(service: str) -> None:
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    assert "user" not in COMPOSE[service]
    assert COMPOSE[service]["cap_drop"] == ["ALL"]
    assert unit(UNITS[service])["User"] == "kilit"
    assert unit(UNITS[service])["NoNewPrivileges"] == "true"


@pytest.mark.parametrize("name", [*UNITS.values(), "kilit-backup.service"])
def test_every_unit_is_confined_as_the_web_is(name: str) -> None:
    confined = {
        key: value
        for key, value in unit("kilit-web.service").items()
        if key.startswith(("Private", "Protect", "RestrictS", "NoNew")) or key == "CapabilityBoundingSet"
    }

    assert len(confined) > 6
    assert confined.items() <= unit(name).items()


def test_only_the_worker_may_make_namespaces_and_nobody_may_mount() -> None:
    profile = json.loads(read("seccomp.json"))
    (refused,) = profile["syscalls"]

    assert [name for name, service in COMPOSE.items() if "seccomp" in str(service.get("security_opt"))] == ["worker"]
    assert COMPOSE["worker"]["security_opt"] == ["no-new-privileges:true", "seccomp=./seccomp.json"]
    assert refused["action"] == "SCMP_ACT_ERRNO"
    assert not {"clone", "clone3", "unshare", "chroot"} & set(refused["names"])
    assert {"mount", "bpf", "keyctl", "init_module", "setns"} <= set(refused["names"])


@pytest.mark.parametrize("service", SERVICES)
def test_the_folders_of_the_example_are_mounted_where_it_names_them(service: str) -> None:
    example = dict(
        line.split("=", 1) for line in (ROOT / ".env.production.example").read_text().splitlines() if "=" in line
    )
    mounted = [volume.rpartition(":${")[2] for volume in COMPOSE[service]["volumes"]]

    for name in ("KILIT_OPTI_IMPORT", "KILIT_OPTI_EXPORT", "KILIT_SAW"):
        assert f"{name}:-{example[name]}}}" in mounted
    assert f"files:{example['KILIT_VAR']}" in COMPOSE[service]["volumes"]


def test_images_follow_the_fixes_of_a_version_on_one_debian() -> None:
    """A pinned patch would miss its security fixes; another Debian sorts text differently, and indexes would break."""
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)

    assert bases
    assert set(bases) <= {f"python:3.{minor}-slim-bookworm" for minor in (11, 12, 13, 14)}
    assert re.fullmatch(r"postgres:\d+-bookworm", COMPOSE["database"]["image"])
    assert re.fullmatch(r"caddy:\d+(\.\d+)?[\w.-]*", COMPOSE["proxy"]["image"])


def test_both_proxies_are_counted_and_nothing_else_reaches_the_web_server() -> None:
    assert COMPOSE["web"]["environment"]["KILIT_PROXIES"] == "${KILIT_PROXIES:-1}"
    assert unit("kilit-web.service")["Environment"] == "PATH=/opt/kilit/.venv/bin:/usr/bin:/bin"  # the last of both
    assert "Environment=KILIT_PROXIES=1\n" in (DEPLOY / "systemd" / "kilit-web.service").read_text()
    assert [name for name, service in COMPOSE.items() if "ports" in service] == ["proxy"]
    assert unit("kilit-web.socket")["ListenStream"] == "127.0.0.1:8000"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("nginx.conf", ["client_header_timeout 10s;", "client_body_timeout 30s;", "limit_conn addresses 200;"]),
        ("Caddyfile", ["read_header 10s\n", "read_timeout 30s 8192\n", "write_timeout 30s 8192\n"]),
    ],
)
def test_both_proxies_have_deadlines_and_limits(name: str, lines: list[str]) -> None:
    """What they do is tested in tests/processes/deploy, where the programs are installed."""
    assert [line for line in lines if line not in read(name)] == []


def test_both_proxies_leave_secrets_out_of_all_their_logs() -> None:
    """What they write is tested in tests/processes/deploy, where the programs are installed."""
    assert read("Caddyfile").count("import without_secrets\n") == 2
    assert "    error_log /var/log/nginx/error.log emerg;\n" in read("nginx.conf").partition("\nhttp {")[2]


def test_both_proxies_receive_large_files_where_the_console_does_and_nowhere_else() -> None:
    page, nginx, caddy = reverse("admin:ociqueue_conversion_import_csv"), read("nginx.conf"), read("Caddyfile")
    most = settings.MOST_UPLOADED // 1024**2 + 1  # a form has some bytes besides its file

    assert f"location = {page} {{\n            client_max_body_size {most}m;" in nginx
    assert f"path {page}\n" in caddy
    assert f"max_size {most}MiB" in caddy
    # The API's largest bodies, and some bytes besides.
    least = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024**2 + 1
    assert (f"client_max_body_size {least}m;" in nginx, f"max_size {least}MiB" in caddy) == (True, True)


@pytest.mark.processes
def test_docker_understands_the_compose_file(tmp_path: Path) -> None:
    command = ["docker", "compose"]
    if not shutil.which("docker") or subprocess.run([*command, "version"], capture_output=True, check=False).returncode:
        pytest.skip("needs docker compose")
    (tmp_path / "deploy").mkdir()
    for name in ("compose.yaml", "Caddyfile", "seccomp.json"):
        shutil.copy(DEPLOY / name, tmp_path / "deploy")
    (tmp_path / "deploy" / ".env").write_text("KILIT_HOST=kilit.example.com\nPOSTGRES_PASSWORD=secret\n")

    ended = subprocess.run(
        [*command, "--file", "deploy/compose.yaml", "config", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_image_holds_every_package_and_nothing_of_the_builders_machine() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+)", DOCKERFILE, re.MULTILINE)
    # The server imports neither simulators nor tests, nor the command line.
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"simulators", "tests", "kilit_cli"}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    installing = ["Makefile", "pyproject.toml", "requirements.txt"]
    others = {"manage.py", *installing, "templates", "locale"}
    assert copied == [f"{' '.join(installing)} ./", ". ."]
    assert "*" in ignored
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == packages | others


@pytest.mark.parametrize("name", sorted(path.name for path in (DEPLOY / "systemd").iterdir()))
def test_systemd_understands(name: str, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze, which is part of systemd")
    for path in (DEPLOY / "systemd").iterdir():
        # Where this machine has the programs, and a user that it knows.
        text = path.read_text().replace("/opt/kilit", str(ROOT)).replace("User=kilit", "User=daemon")
        (tmp_path / path.name).write_text(text.replace("Group=kilit", "Group=daemon"))

    ended = subprocess.run(
        ["systemd-analyze", "verify", name.replace("@.", "@1.")],
        cwd=tmp_path,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
