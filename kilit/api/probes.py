"""The probes in OpenAPI: plain views, because they answer before anything else works."""

from typing import Literal, TypedDict

from kilit.api.openapi import Answer, Described


class Health(TypedDict):
    status: Literal["ok"]


class Checks(TypedDict):
    """Each is `ok`, or says what is wrong."""

    database: str
    migrations: str
    workers: str


class Readiness(TypedDict):
    """Whether requests can be served, and jobs worked."""

    status: Literal["ok", "not ready"]
    checks: Checks


HEALTH = Described({200: Answer("It answers.", Health)})
READINESS = Described({200: Answer("Ready.", Readiness), 503: Answer("Not ready; `checks` says why.", Readiness)})
METRICS = Described(
    {200: Answer("Text for Prometheus.", media={"text/plain": {"type": "string"}})},
    {
        401: {"UNAUTHENTICATED": "`KILIT_METRICS_TOKEN` is set, and was not sent."},
        503: {"UNAVAILABLE": "The database does not answer."},
    },
)
PROBES: dict[str, tuple[str, list[dict[str, list[str]]], Described]] = {
    "/healthz": ("Is the process up?", [], HEALTH),
    "/readyz": ("Is the product ready?", [], READINESS),
    "/metrics": ("What do the queues hold?", [{}, {"metricsToken": []}], METRICS),
}
