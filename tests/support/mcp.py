"""A client of the Model Context Protocol that sends just what it is told; the official one sends nothing wrong."""

import json
from typing import Any

from django.test import Client

from kilit.ask.mcp import CAPABILITIES, VERSION

NEWEST = "2026-07-28"
META = {VERSION: NEWEST, CAPABILITIES: {}}


class Mcp:
    """A client that sends just what it is told."""

    def __init__(self, key: str = "", **headers: str) -> None:
        self.client = Client(headers={"authorization": f"Bearer {key}"} if key else {})
        self.headers = headers

    def send(self, content: Any, **headers: str) -> Any:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        given = {name.replace("_", "-"): text for name, text in {**self.headers, **headers}.items()}
        return self.client.generic("POST", "/mcp", body, content_type="application/json", headers=given)

    def ask(self, method: str, headers: dict[str, str] | None = None, meta: Any = META, **params: Any) -> Any:
        """Send a request of the newest revision."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}
        sent = {"MCP_Protocol_Version": NEWEST, "Mcp_Method": method}
        if "name" in params:
            sent["Mcp_Name"] = str(params["name"])
        return self.send(body, **{**sent, **(headers or {})})

    def ask_as_before(self, method: str, **params: Any) -> Any:
        """Send a request as clients do that open with `initialize`."""
        return self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def call(self, name: str, arguments: Any = None) -> dict[str, Any]:
        return self.ask("tools/call", name=name, arguments=arguments or {}).json()["result"]
