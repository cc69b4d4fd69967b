"""The health endpoints for OpenAPI; they are plain Django views, because they respond before anything else works."""

from typing import Literal, TypedDict

from kilit.api.openapi import ApiResponse, Endpoint


class Health(TypedDict):
    status: Literal["ok"]


class Checks(TypedDict):
    """Each is `ok` or says what is wrong."""

    database: str
    migrations: str
    workers: str


class Readiness(TypedDict):
    """Whether requests can be served and jobs processed."""

    status: Literal["ok", "not ready"]
    checks: Checks


HEALTH = Endpoint({200: ApiResponse("The process is running.", Health)})
READINESS = Endpoint(
    {200: ApiResponse("Ready.", Readiness), 503: ApiResponse("Not ready; `checks` says why.", Readiness)}
)
METRICS = Endpoint(
    {200: ApiResponse("Metrics in Prometheus' text format.", media={"text/plain": {"type": "string"}})},
    {
        401: {"UNAUTHENTICATED": "`KILIT_METRICS_TOKEN` is set and was not sent."},
        503: {"UNAVAILABLE": "The database is not responding."},
    },
)
PROBES: dict[str, tuple[str, list[dict[str, list[str]]], Endpoint]] = {
    "/healthz": ("Liveness: is the process running?", [], HEALTH),
    "/readyz": ("Readiness: can it serve requests and process jobs?", [], READINESS),
    "/metrics": ("Prometheus metrics", [{}, {"metricsToken": []}], METRICS),
}
