"""The parts of `make ha` that need no Debian packages: rounds by a seed, the figures, and the configuration files."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.system.chaos.report import Finding
from tests.system.ha import configuration, packages, report
from tests.system.ha.configuration import Node, Passwords
from tests.system.ha.report import Round
from tests.system.ha.schedule import KINDS, schedule

GOOD = Round(
    "failover",
    "b",
    18.2,
    Counter({"503 UNAVAILABLE": 7}),
    1200,
    [],
    [],
    findings=[Finding("kept", "", [])],
    notes=["audited: all"],
)


def test_a_seed_gives_the_same_rounds_each_time() -> None:
    assert schedule(7, 10) == schedule(7, 10)
    assert schedule(7, 10) != schedule(8, 10)
    assert schedule(7, 10)[:4] == schedule(7, 4)


@pytest.mark.parametrize("seed", range(5))
def test_two_rounds_have_both_kinds(seed) -> None:
    turns = schedule(seed, 10)

    assert [{turn.kind for turn in turns[at : at + 2]} for at in range(0, 10, 2)] == [set(KINDS)] * 5


def test_a_lost_and_a_doubled_row_are_found() -> None:
    assert report.compare(["a", "b"], ["a", "b", "not acknowledged"]) == ([], [])
    assert report.compare(["a", "b", "b"], ["b"]) == (["a"], [])
    assert report.compare(["a"], ["a", "c", "c"]) == ([], ["c"])


@pytest.mark.parametrize(
    "broken",
    [
        {"lost": ["a"]},
        {"doubled": ["a"]},
        {"errors": Counter({"500": 1})},
        {"findings": [Finding("totals are exact", "", ["3, not 4"])]},
    ],
)
def test_each_violation_breaks_the_run(broken) -> None:
    rounds = [GOOD, replace(GOOD, **broken)]

    assert not report.is_broken([GOOD])
    assert report.is_broken(rounds)
    assert "BROKEN" in report.table(7, rounds)
    assert "Round 2:" in report.table(7, rounds)


def test_the_table_has_the_figures_of_each_round() -> None:
    table = report.table(7, [GOOD, replace(GOOD, kind="switchover", silence=2.04, errors=Counter())])

    assert "| 1 | failover | b | 18.2 s | 503 UNAVAILABLE: 7 | 1,200 | 0 | 0 | 1 kept |" in table
    assert "| 2 | switchover | b | 2.0 s | none |" in table
    assert "Round 2 audited: all" in table
    assert "2,400 rows acknowledged. Longest silence: 18.2 s in a failover, 2.0 s in a switchover." in table


def test_silence_includes_the_beginning_and_the_end() -> None:
    assert report.longest_silence([12, 13, 9], start=10, end=14) == 2
    assert report.longest_silence([10.5, 13], start=10, end=14) == 2.5
    assert report.longest_silence([11], start=10, end=14) == 3
    assert report.longest_silence([], start=10, end=14) == 4


def test_errors_are_counted_by_kind_since_the_round_began() -> None:
    down = {"what": "refused", "status": 503, "reply": {"error": {"code": "UNAVAILABLE"}}}
    lines = [
        {**down, "at": 1.0},
        {**down, "at": 5.0},
        {"what": "refused", "at": 6.0, "status": 502, "reply": None},
        {"what": "unanswered", "at": 6.0, "error": "ConnectionRefusedError"},
        {"what": "made", "at": 6.0, "ids": ["a"]},
    ]

    assert report.error_kinds(lines, start=4.0) == {"503 UNAVAILABLE": 1, "502": 1, "ConnectionRefusedError": 1}


def test_patroni_replicates_synchronously_and_its_lease_outlasts_a_slow_etcd() -> None:
    node, passwords = Node("a", Path("/srv/a")), Passwords()

    settings = json.loads(configuration.patroni(node, etcd=2379, programs=Path("/pg/bin"), passwords=passwords))

    shared = settings["bootstrap"]["dcs"]
    assert shared["synchronous_mode"] is True
    assert shared["loop_wait"] + 2 * shared["retry_timeout"] <= shared["ttl"]
    assert settings["postgresql"]["data_dir"] == "/srv/a/data"
    assert all("127.0.0.1/32 scram-sha-256" in line for line in settings["postgresql"]["pg_hba"])


def test_haproxy_asks_each_patroni_who_leads() -> None:
    nodes = [Node("a", Path("/srv/a"), 5001, 8001), Node("b", Path("/srv/b"), 5002, 8002)]

    text = configuration.haproxy(5000, nodes)

    assert "bind 127.0.0.1:5000" in text
    assert "uri /primary" in text
    assert "on-marked-down shutdown-sessions" in text
    assert "  server b 127.0.0.1:5002 check port 8002" in text


def test_pgbouncer_pools_transactions_on_the_way_to_haproxy() -> None:
    text = configuration.pgbouncer(6432, haproxy=5000, folder=Path("/srv/pool"))

    assert "kilit = host=127.0.0.1 port=5000" in text
    assert "pool_mode = transaction" in text
    assert "auth_file = /srv/pool/users.txt" in text


def test_missing_packages_are_named_and_the_newest_server_is_used(tmp_path) -> None:
    assert packages.missing(versions=tmp_path, search=str(tmp_path)) == [
        "postgresql",
        *packages.PROGRAMS.values(),
    ]

    for version in ("9.6", "15", "17"):
        programs = tmp_path / version / "bin"
        programs.mkdir(parents=True)
        (programs / "postgres").touch()

    assert packages.newest(tmp_path) == tmp_path / "17" / "bin"
    assert packages.missing(versions=tmp_path, search=str(tmp_path)) == list(packages.PROGRAMS.values())
