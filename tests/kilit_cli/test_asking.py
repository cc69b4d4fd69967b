"""The verbs of a running server from the command line, with keys of several kinds."""

import inspect

import pytest

from kilit.ask.rest import VERBS
from kilit_cli import __main__ as program
from kilit_cli import asking
from kilit_cli.__main__ import app
from kilit_cli.failures import ExitCode, Failure
from ociqueue.models import Conversion
from tests.support.ask import AskWorld, make_world
from tests.support.command_line import CommandLine, Ended
from tests.support.conversions import make_failed

pytestmark = pytest.mark.django_db(transaction=True)
# What verbs are called on the command line, if not as on the server.
COMMANDS = {"error_groups": "groups", "site_health": "site", "queue_stats": "stats"}
OPTIONS = {"ids": "jobs", "site": "name"}


@pytest.fixture
def world() -> AskWorld:
    return make_world()


@pytest.fixture
def use(kilit, live_server, world):
    def with_key(kind: str) -> CommandLine:
        kilit.use(live_server.url, world.keys[kind])
        return kilit

    return with_key


def test_every_verb_with_every_field_has_a_command() -> None:
    for name, verb in VERBS.items():
        command = app[COMMANDS.get(name, name).replace("_", "-")].default_command
        parameters = set(inspect.signature(command).parameters)
        if "options" in parameters:
            parameters |= set(vars(program.asking.ActOptions)["__dataclass_fields__"])
        fields = set(verb.body.model_fields)
        assert fields <= parameters | {field for field, option in OPTIONS.items() if option in parameters}, name


def test_what_a_reader_sees(use, world) -> None:
    kilit = use("reads")

    shown = {command: kilit(*command.split()) for command in ("problems", "find zeytin", "groups", "site", "stats")}
    explained = kilit("explain", "zeytin-7")

    assert {command: ended.code for command, ended in shown.items()} == dict.fromkeys(shown, 0)
    assert all("zeytin" in shown[command].out for command in ("find zeytin", "site"))
    assert str(world.failed.pk) in shown["find zeytin"].out
    assert "Offline conversions" in shown["stats"].out
    assert "--queue conversion --group" in shown["groups"].out
    assert explained.code == 0
    assert "INVALID_VALUE" in explained.out or "refused at" in explained.out
    everything = "".join(ended.out for ended in (*shown.values(), explained))
    assert "532 123 45 67" not in everything, "texts of strangers are masked"
    assert not [mark for mark in world.marks if mark in everything]


def test_json_is_the_servers_answer(use) -> None:
    kilit = use("reads")

    answers = {
        name: kilit(*name.split(), "--json").json for name in ("problems", "find zeytin", "groups", "site", "stats")
    }

    assert [sorted(answer) for answer in answers.values()] == [
        ["problems"],
        ["jobs", "more"],
        ["groups"],
        ["more", "sites"],
        ["queues", "workers_running"],
    ]


def test_a_failed_conversion_is_retried_by_its_name(use, world) -> None:
    kilit = use("acts")

    retried = kilit("retry", "zeytin-7", "--reason", "The value is right now.")
    again = kilit("retry", world.failed, "--reason", "Once more.", "--json")

    assert (retried.code, again.code) == (0, 1)
    assert "1 of 1" in retried.out
    assert again.json["unchanged"][0]["id"] == str(world.failed.pk)
    assert Conversion.objects.get(pk=world.failed.pk).status == "QUEUED"
    assert "The value is right now." in kilit("explain", "zeytin-7").out


def test_an_error_group_is_given_up(use, world) -> None:
    kilit = use("acts")
    group = next(group for group in kilit("groups", "--json").json["groups"] if group["queue"] == "conversion")

    retried = kilit("retry", "--queue", "conversion", "--group", group["group"], "-r", "Fixed.", "--json")
    waiting = kilit("mark-failed", world.failed.pk, "-r", "They are not needed.")

    assert retried.json["ids"] == [str(world.failed.pk)]
    assert (waiting.code, "1 of 1" in waiting.out) == (0, True)


def test_a_held_order_is_approved_and_a_queue_paused(use, world) -> None:
    kilit = use("owner")

    approved = kilit("approve", world.held.pk, "--reason", "Added.")
    paused, shown = kilit("pause", "pdf", "--reason", "New printer."), kilit("stats")
    resumed = kilit("resume", "pdf", "--reason", "It prints.")

    assert (approved.code, paused.code, resumed.code) == (0, 0, 0)
    assert "New printer." in shown.out
    assert "New printer." not in kilit("stats").out


def test_a_key_that_only_reads_acts_on_nothing(use, world) -> None:
    kilit = use("reads")

    ended = kilit("retry", world.failed.pk, "--reason", "x")

    assert ended.code == 3
    assert "This key does not have the scope operate. It has read." in ended.err
    assert "Use a key that may do this" in ended.err


def test_nothing_of_another_site_is_found_explained_or_changed(use, world) -> None:
    kilit = use("acts")

    found, explained = kilit("find", "portakal"), kilit("explain", world.foreign.pk)
    retried = kilit("retry", world.foreign.pk, "-r", "x")

    assert (found.code, explained.code, retried.code) == (4, 4, 4)
    assert found.out == "Nothing.\n"
    assert Conversion.objects.get(pk=world.foreign.pk).status == "FAILED"


def test_a_text_that_several_jobs_have_is_refused_with_their_ids(use, world) -> None:
    (other,) = make_failed(world.site, source_key="zeytin-70")

    ended = use("acts")("retry", "zeytin", "--reason", "x")

    assert ended.code == 1
    assert str(world.failed.pk) in ended.err
    assert str(other.pk) in ended.err


def test_cron_hears_of_problems_only(use, site) -> None:
    kilit = use("reads")

    assert kilit("problems", "--check").code == 1
    assert kilit("problems", "--check", "--queue", "adjustment") == Ended(0, "", "")


@pytest.mark.parametrize(
    "arguments", [["retry", "--reason", "x"], ["retry", "a"], ["nothing"], ["stats", "--limit", "x"]]
)
def test_wrong_usage_is_said_before_anything_is_sent(kilit, arguments: list[str]) -> None:
    kilit.use("http://localhost:1", "kilit_key")

    assert kilit(*arguments).code == 2


def test_a_login_and_what_it_may_do(use, kilit, live_server, world, monkeypatch) -> None:
    monkeypatch.setenv("KILIT_KEY", world.keys["reads"])

    ended = kilit("login", live_server.url)
    monkeypatch.delenv("KILIT_KEY")

    assert ended.code == 0
    assert "as ayse. The key may read." in ended.out
    assert kilit("stats").code == 0


def test_watching_goes_on_while_the_server_is_away(use, monkeypatch) -> None:
    kilit, look = use("reads"), asking.look
    looks = iter(
        [look, lambda _api: raise_failure(ExitCode.UNREACHABLE), look, lambda _api: raise_failure(ExitCode.NO_ACCESS)]
    )
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setattr(asking, "look", lambda api: next(looks)(api))  # noqa: PLW0108 - a look each time

    ended = kilit("watch")

    assert ended.code == 3, "a key that is revoked ends it"
    assert ended.err == "Away.\n"
    assert next(looks, None) is None


def raise_failure(code: ExitCode) -> None:
    raise Failure("Away.", "", code)


def test_a_screen_is_printed_once(use) -> None:
    ended = use("reads")("watch", "--once")

    assert ended.code == 0
    assert "Offline conversions" in ended.out
    assert "● " in ended.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_for_each_shell(kilit, shell: str) -> None:
    ended = kilit("completion", shell)

    assert ended.code == 0
    assert all(word in ended.out for word in ("mark-failed", "enqueue", "--reason" if shell != "fish" else "reason"))
