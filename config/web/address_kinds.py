"""Kinds of addresses, by which requests are counted: a few names, whatever paths clients invent."""

from functools import cache

from kilit.api.queue_api import apis

# An exact address or, with a slash at its end, all below it: the longest that fits. Each queue declares its own.
OWN = {
    "/healthz": "health",
    "/readyz": "health",
    "/metrics": "metrics",
    "/static/": "static",
    "/admin/login/": "login",
    "/admin/password-reset/": "login",
    "/admin/": "console",
    "/api/ask": "api_ask",
    "/api/ask/": "api_ask",
    "/api/cron/": "api_cron",
    "/api/schema/": "api_docs",
    "/api/docs/": "api_docs",
    "/mcp": "api_ask",
}
ROOT, OTHER = "console", "other"


@cache
def kinds_by_address() -> dict[str, str]:
    kinds = OWN | {address: kind for api in apis for address, kind in api.kinds.items()}
    return {address: kinds[address] for address in sorted(kinds, key=len, reverse=True)}


def kinds() -> tuple[str, ...]:
    return tuple(sorted({ROOT, OTHER, *kinds_by_address().values()}))


def kind_of(path: str) -> str:
    if path == "/":
        return ROOT
    prefixes = ((address, kind) for address, kind in kinds_by_address().items() if address.endswith("/"))
    return kinds_by_address().get(path) or next((kind for prefix, kind in prefixes if path.startswith(prefix)), OTHER)
