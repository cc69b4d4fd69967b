"""Typed settings from the environment, and what bad ones are answered with."""

from collections.abc import Callable
from operator import methodcaller
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from config.settings.databases import databases
from config.settings.environment import Environment, host_and_port
from config.settings.shared import DATABASE_TIMEOUT
from kilit.postgres.external.connection import CANCEL_SECONDS, CHECK_SECONDS
from tests.support.workers import database_url


@pytest.fixture
def env(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


@pytest.mark.parametrize(("word", "value"), [("true", True), ("ON", True), ("1", True), ("no", False), ("0", False)])
def test_booleans_have_few_words(env, monkeypatch, word: str, value) -> None:
    monkeypatch.setenv("KILIT_X", word)

    assert env.flag("KILIT_X", default=not value) is value


@pytest.mark.parametrize(
    ("word", "host", "joined"),
    [
        ("::1", "::1", "[::1]:80"),
        ("[::1]", "::1", "[::1]:80"),
        ("0:0::0", "::", "[::]:80"),
        ("0.0.0.0", "0.0.0.0", "0.0.0.0:80"),  # noqa: S104
        ("kilit-1.example.com", "kilit-1.example.com", "kilit-1.example.com:80"),
    ],
)
def test_a_host_is_an_address_with_or_without_brackets_or_a_name(
    env, monkeypatch, word: str, host: str, joined: str
) -> None:
    monkeypatch.setenv("HOST", word)

    assert env.host("HOST", default="127.0.0.1") == host
    assert host_and_port(host, 80) == joined


SAW = Path("/mnt/saw").absolute()


def test_folders_have_names(env, monkeypatch) -> None:
    monkeypatch.setenv("KILIT_X", "Küçük = /mnt/a ,Saw 2=//SAW2/x=y")

    assert env.folders("KILIT_X", besides=SAW) == {"Küçük": Path("/mnt/a"), "Saw 2": Path("//SAW2/x=y")}
    assert env.folders("KILIT_NOT_SET", besides=SAW) == {}


def read_as(kind: str, **options: object) -> Callable[[Environment], object]:
    return methodcaller(kind, "KILIT_X", **options)


@pytest.mark.parametrize(
    ("read", "word", "sentence"),
    [
        (read_as("flag", default=False), "maybe", "KILIT_X='maybe' is not a boolean: use true or false."),
        (read_as("number", default=1, least=1, most=9), "ten", "KILIT_X='ten' is not a whole number from 1 to 9."),
        (read_as("number", default=1, least=1, most=9), "10", "KILIT_X='10' is not a whole number from 1 to 9."),
        (read_as("number", default=1, least=1), "-1", "KILIT_X='-1' is not a whole number from 1 upwards."),
        (read_as("one_of", choices=("A", "B"), default="A"), "c", "KILIT_X='C' is not one of A, B."),
        (read_as("text"), "  ", "KILIT_X is required, but not set."),
        (read_as("words"), "", "KILIT_X is required, but not set."),
        (read_as("folders", besides=SAW), "/mnt/saw2", "use a name once, and its folder, as Saw 2=/mnt/saw2."),
        (read_as("folders", besides=SAW), "Saw 2=", "KILIT_X has 'Saw 2=': use a name once"),
        (read_as("folders", besides=SAW), "A=/mnt/a, A=/mnt/b", "KILIT_X has 'A=/mnt/b': use a name once"),
        (read_as("folders", besides=SAW), "A=/mnt/a, B=/mnt/a/", "KILIT_X has 'B=/mnt/a/': another saw has this"),
        (read_as("folders", besides=SAW), "A=/mnt/saw", "KILIT_X has 'A=/mnt/saw': another saw has this folder."),
        (read_as("networks"), "10.0.0.0/8, true", "'true' does not appear to be an IPv4"),
        (read_as("networks"), "10.0.0.1/8", "10.0.0.1/8 has host bits set. Use addresses or networks"),
        (read_as("database"), "mysql://a@b/c", "is not of the form postgres://"),
        (read_as("database"), "postgres://a:b@c:port/d", "is not of the form postgres://"),
        (read_as("database"), "nonsense", "is not of the form postgres://"),
        (read_as("secret"), "şifre", "KILIT_X is sent in a header: use letters from A to Z"),
        (read_as("host", default=""), "not a host", "KILIT_X='not a host' is neither an address nor a name"),
        (read_as("host", default=""), "::1:8000:zz", "use 127.0.0.1, 0.0.0.0 or ::1."),
        (read_as("host", default=""), "300.1.1.1", "is neither an address nor a name"),
        (read_as("host", default=""), "fe80::1%eth0", "is neither an address nor a name"),
        (read_as("host", default=""), "unix:/run/kilit", "is neither an address nor a name"),
        (read_as("mail"), "mail.example.com", "is not of the form smtp+tls://"),
        (read_as("mail"), "smtp://mail:port", "is not of the form smtp+tls://"),
        (read_as("mail"), "smtp://[mail", "is not of the form smtp+tls://"),
        (read_as("mail"), "imap://mail", "is not of the form smtp+tls://"),
    ],
)
def test_nonsense_is_named_with_what_is_allowed(env, monkeypatch, read, word: str, sentence: str) -> None:
    monkeypatch.setenv("KILIT_X", word)

    with pytest.raises(ImproperlyConfigured) as error:
        read(env)

    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgres://kilit:s3cret@host:notaport/kilit",
        "postgres://kilit:s3cret@host:5432/",
        "mysql://kilit:s3cret@host/kilit",
        "nosuch://kilit:s3cret@host/kilit",
        "kilit:s3cret@host/kilit",
    ],
)
def test_a_bad_database_url_does_not_show_its_password(env, monkeypatch, caplog, capfd, address: str) -> None:
    monkeypatch.setenv("KILIT_X", address)

    with pytest.raises(ImproperlyConfigured) as error:
        env.database("KILIT_X")

    output = (error.value, caplog.text, *capfd.readouterr())
    assert "s3cret" not in " ".join(map(str, output))


def test_the_process_wins_over_the_file(tmp_path, monkeypatch) -> None:
    (tmp_path / ".env").write_text("KILIT_X=file\nKILIT_Y=file\n")
    monkeypatch.setenv("KILIT_X", "process")
    monkeypatch.delenv("KILIT_Y", raising=False)

    env = Environment(tmp_path)

    assert (env.text("KILIT_X"), env.text("KILIT_Y")) == ("process", "file")
    monkeypatch.delenv("KILIT_Y")


def test_a_postgres_url_becomes_a_database(env, monkeypatch) -> None:
    monkeypatch.setenv("KILIT_X", "postgres://kilit:pw@db:5433/kilit")

    database = env.database("KILIT_X")

    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db", 5433, "kilit")


@pytest.mark.parametrize(
    ("address", "port", "uses"),
    [("smtp", 25, ""), ("smtp+tls", 587, "EMAIL_USE_TLS"), ("smtp+ssl", 465, "EMAIL_USE_SSL")],
)
def test_the_url_of_a_mail_server_becomes_djangos_settings(
    env, monkeypatch, address: str, port: int, uses: str
) -> None:
    monkeypatch.setenv("KILIT_X", f"{address}://kilit%40example.com:s%3Acret@mail.example.com")

    read = env.mail("KILIT_X")

    assert (read["EMAIL_HOST"], read["EMAIL_PORT"]) == ("mail.example.com", port)
    assert (read["EMAIL_HOST_USER"], read["EMAIL_HOST_PASSWORD"]) == ("kilit@example.com", "s:cret")
    assert [name for name in ("EMAIL_USE_TLS", "EMAIL_USE_SSL") if read[name]] == ([uses] if uses else [])


def test_without_a_mail_server_there_is_no_host(env, monkeypatch) -> None:
    monkeypatch.setenv("KILIT_X", "")

    assert env.mail("KILIT_X")["EMAIL_HOST"] == ""


@pytest.mark.django_db
def test_processes_of_tests_use_the_server_of_the_tests(env, monkeypatch) -> None:
    params = {"user": "kilit", "password": "p@ss", "host": "/var/a b", "port": "5499", "dbname": "tests"}
    monkeypatch.setattr(connections["default"], "get_connection_params", lambda: params)
    monkeypatch.setenv("KILIT_X", database_url())

    database = env.database("KILIT_X")

    assert (database["USER"], database["PASSWORD"], database["NAME"]) == ("kilit", "p@ss", "tests")
    assert {name: str(value) for name, value in database["OPTIONS"].items()} == {"host": "/var/a b", "port": "5499"}


def test_of_several_hosts_the_one_that_can_be_written_is_used(env, monkeypatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://kilit:x@one:5432,two:5432/kilit")
    several = databases(env, default={})["default"]["OPTIONS"]
    monkeypatch.setenv("DATABASE_URL", "postgres://kilit:x@one:5432/kilit")
    one = databases(env, default={})["default"]["OPTIONS"]

    assert several["target_session_attrs"] == "read-write"
    assert "target_session_attrs" not in one  # so that pages can be read while the only one is read-only


def test_the_embedded_database_has_more_time_on_a_busy_machine(env, monkeypatch) -> None:
    monkeypatch.delenv("KILIT_DATABASE_CONNECT_TIMEOUT", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)

    assert databases(env, default={"HOST": "/run/kilit"})["default"]["OPTIONS"]["connect_timeout"] == 10


def test_a_host_that_disappears_is_given_up_within_ten_seconds_by_default(env, monkeypatch) -> None:
    monkeypatch.delenv("KILIT_DATABASE_CONNECT_TIMEOUT", raising=False)
    monkeypatch.setenv("DATABASE_URL", "postgres://kilit:x@one:5432/kilit?tcp_user_timeout=30000")
    chosen = databases(env, default={})["default"]["OPTIONS"]
    monkeypatch.setenv("DATABASE_URL", "postgres://kilit:x@one:5432/kilit")
    options = databases(env, default={})["default"]["OPTIONS"]

    # A statement, and then the look why it was not answered: a connection and its question.
    assert DATABASE_TIMEOUT + CHECK_SECONDS + CANCEL_SECONDS < 10
    assert 0 < options["connect_timeout"] <= CHECK_SECONDS
    assert 0 < options["tcp_user_timeout"] <= 10_000
    assert options["keepalives_idle"] + options["keepalives_interval"] * options["keepalives_count"] <= 10
    assert "options" not in options  # PgBouncer refuses this startup parameter
    assert int(chosen["tcp_user_timeout"]) == 30_000
