"""The production example passes Django's deployment checks when it is filled in, and not before."""

from pathlib import Path

import pytest

from config.checks import FILLED_IN, check_placeholders
from tests.support.commands import ROOT, manage, run_python

EXAMPLE = (ROOT / ".env.production.example").read_text()
# These may stay as they are.
USABLE = {
    "KILIT_PRODUCTION",
    "KILIT_METRICS_ALLOW",
    "KILIT_VAR",
    # Of compose.yaml alone; no process of Kilit reads them.
    "KILIT_HOST",
    "POSTGRES_PASSWORD",
    "KILIT_SECOND_FACTOR",
    "KILIT_S3_BUCKET",
    "KILIT_OPTI_IMPORT",
    "KILIT_OPTI_EXPORT",
    "KILIT_SAW",
    "KILIT_OPTI_COMMAND",
}
FILLED = {
    "SECRET_KEY": "kS9-w2JxQ7_vB4nL0pR8tY6uE3iO1aZ5cX-mG7hD2fK4jV9bN8qW6sT0",
    "DATABASE_URL": "postgres://kilit:6uE3iO1aZ5cX@localhost:5432/kilit",
    "ALLOWED_HOSTS": "kilit.mobilya.com.tr",
    "CSRF_TRUSTED_ORIGINS": "https://kilit.mobilya.com.tr",
    "KILIT_CREDENTIAL_KEYS": "mG7hD2fK4jV9bN8qW6sT0",
    "KILIT_METRICS_TOKEN": "vB4nL0pR8tY6uE3iO1aZ5",
}
SECRETS = {"SECRET_KEY", "KILIT_CREDENTIAL_KEYS", "KILIT_METRICS_TOKEN"}
PROGRAMS = {
    "web": ["-m", "gunicorn", "config.web.wsgi", "--config", "config/web/gunicorn.py"],
    "workers": ["manage.py", "runworkers"],
    "runner": ["manage.py", "orchestrator_tick", "--watch"],
    "command": ["manage.py", "createsuperuser"],
    "check": ["manage.py", "check", "--deploy"],
}


def variables(*, with_comments: bool) -> dict[str, str]:
    """Return the variables of the example; those in comments are optional ones."""
    lines = [line.removeprefix("# ") if with_comments else line for line in EXAMPLE.splitlines()]
    return {name: value for name, _, value in (line.partition("=") for line in lines) if value and name.isupper()}


def test_check_deploy_is_clean_with_the_production_example_filled_in(tmp_path: Path) -> None:
    filled = {**variables(with_comments=False), **FILLED, "KILIT_VAR": str(tmp_path)}

    ended = manage("check", "--deploy", "--fail-level", "WARNING", **filled)

    assert ended.stderr == ""
    assert "no issues" in ended.stdout


def test_services_without_pages_do_not_load_the_console(tmp_path: Path) -> None:
    """It would take longer than all else they do to start, and stay in memory."""
    asked = (
        "import django, sys; django.setup()\n"
        "from django.core.management import load_command_class\n"
        "for app, name in (('kilit.workers', 'runworkers'), ('orchestrator', 'orchestrator_tick'), ('config', 'up')):\n"
        "    command = load_command_class(app, name)\n"
        "    command.check(**command.get_check_kwargs({}))\n"
        "print(sorted({'config.urls', 'orchestrator.admin'} & set(sys.modules)))"
    )

    ended = run_python(
        "-c", asked, DJANGO_SETTINGS_MODULE="config.settings.server", SECRET_KEY="x", KILIT_VAR=str(tmp_path)
    )

    assert (ended.stdout.strip(), ended.stderr) == ("[]", "")


def test_check_deploy_refuses_every_placeholder_of_the_example_by_name(tmp_path: Path) -> None:
    given = {**variables(with_comments=True), "KILIT_VAR": str(tmp_path)}

    ended = manage("check", "--deploy", **{**given, **{name: FILLED[name] for name in SECRETS}})

    refused = {name for name in given if f"{name} still has the placeholder" in ended.stderr}
    assert ended.returncode == 1
    assert refused == given.keys() - USABLE - SECRETS == set(FILLED_IN)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.by_day(2)
def test_nothing_starts_in_production_with_a_secret_of_the_example(program: str, tmp_path: Path) -> None:
    ended = run_python(*PROGRAMS[program], **{**variables(with_comments=True), "KILIT_VAR": str(tmp_path)})

    names, words, _ = ended.stderr.partition(" still have the value of .env.production.example")
    assert (ended.returncode, set(names.removeprefix("kilit: ").split(" and "))) == (1, SECRETS)
    assert words
    assert not list(tmp_path.iterdir())


def test_an_old_placeholder_may_still_decrypt_what_it_encrypted(tmp_path: Path) -> None:
    example = variables(with_comments=False)
    keys = f"{FILLED['KILIT_CREDENTIAL_KEYS']},{example['KILIT_CREDENTIAL_KEYS']}"

    ended = manage("check", **{**example, **FILLED, "KILIT_CREDENTIAL_KEYS": keys, "KILIT_VAR": str(tmp_path)})

    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_database_whose_password_is_public_is_refused_by_name(monkeypatch) -> None:
    example = variables(with_comments=True)["POSTGRES_PASSWORD"]
    monkeypatch.setenv("DATABASE_URL", f"postgres://kilit:{example}@postgres/kilit")

    (error,) = check_placeholders()

    assert error.msg == "DATABASE_URL still has the placeholder of .env.production.example."
