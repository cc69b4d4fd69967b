"""The protocol's official client at a real server: it lists and calls every tool, with four kinds of keys."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from kilit.ask.verbs import VERBS
from kilit.lock.models import Activity
from tests.support.ask import ACTS, OFFERS, AskWorld, make_world
from tests.support.web_process import web_process

REVISIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@pytest.fixture
def world(transactional_db) -> AskWorld:
    return make_world()


@pytest.fixture
def address(world, tmp_path: Path) -> Iterator[str]:
    with web_process(tmp_path) as port:
        yield f"http://127.0.0.1:{port}/mcp"


async def use_everything(
    address: str, key: str, mode: str, requests: dict[str, Any]
) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the revision, the tools, and the result or the error of each verb, also of those that are not offered."""
    results: dict[str, Any] = {}
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        tools = (await client.list_tools()).tools
        for verb, arguments in requests.items():
            try:
                results[verb] = await client.call_tool(verb, arguments)
            except MCPError as error:
                results[verb] = error
        return client.protocol_version, tools, results


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.by_day(1)
def test_the_official_client_lists_and_calls_every_tool(world, address, mode) -> None:
    for kind, offered in OFFERS.items():
        revision, tools, results = asyncio.run(use_everything(address, world.keys[kind], mode, world.requests()))

        assert revision == REVISIONS[mode]
        assert [tool.name for tool in tools] == offered
        assert {tool.name for tool in tools if not tool.annotations.read_only_hint} == {*offered} & {*ACTS}
        called = {verb for verb, result in results.items() if not isinstance(result, MCPError)}
        assert called == {*offered}
        # The client has checked each answer against the schema that the tool names.
        assert all(results[verb].structured_content for verb in offered)
        assert not any(results[verb].is_error for verb in offered)
        assert {results[verb].error.code for verb in VERBS if verb not in offered} <= {-32602}
    actors = set(Activity.objects.filter(kind__in=("action", "pause")).values_list("actor", flat=True))
    assert actors == {"key:ayse:laptop", "key:owner:laptop"}
