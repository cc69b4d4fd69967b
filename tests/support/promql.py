"""Evaluates the part of PromQL that our alerts use, over scrapes of the real /metrics.

Parsed by a port of Prometheus's own grammar. Simpler than Prometheus in one thing: `increase` is the difference of two
scrapes, without extrapolation to the edges of the range. What it does not know it refuses.
"""

import operator
import re
from collections.abc import Callable
from typing import Any

import promql_parser as promql
from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]

COMPARES: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
COUNTS: dict[str, Callable[[float, float], float]] = {
    "/": lambda left, right: left / right if right else float("nan"),
    "-": operator.sub,
}
AGGREGATES: dict[str, Callable[[list[float]], float]] = {"sum": sum, "min": min, "max": max}


class Scrape:
    """What /metrics said at one moment."""

    def __init__(self, text: str, *, up: int = 1) -> None:
        self.samples: list[tuple[str, Labels, float]] = [("up", frozenset({("job", "kilit")}), float(up))]
        for family in text_string_to_metric_families(text):
            self.samples += [(each.name, frozenset(each.labels.items()), each.value) for each in family.samples]

    def select(self, selector: Any) -> Vector:
        matchers = [(each.name, each.op, each.value) for each in selector.matchers.matchers]
        return {
            labels: value
            for name, labels, value in self.samples
            if name == selector.name and all(matches(dict(labels).get(label, ""), *rule) for label, *rule in matchers)
        }


def matches(value: str, rule: Any, wanted: str) -> bool:
    """Tell whether a label is as a matcher wants it."""
    whole = re.fullmatch(wanted, value) is not None
    if rule in (promql.MatchOp.Equal, promql.MatchOp.NotEqual):
        return (value == wanted) == (rule == promql.MatchOp.Equal)
    return whole == (rule == promql.MatchOp.Re)


def evaluate(node: Any, now: Scrape, before: Scrape) -> Any:  # noqa: PLR0911 - a line for each kind
    """Return a vector or a number: what an expression is at the later of two scrapes."""
    match node:
        case promql.NumberLiteral():
            return node.val
        case promql.ParenExpr():
            return evaluate(node.expr, now, before)
        case promql.VectorSelector():
            return now.select(node)
        case promql.AggregateExpr() if node.modifier is None:
            values = evaluate(node.expr, now, before)
            return {frozenset(): AGGREGATES[str(node.op)](list(values.values()))} if values else {}
        case promql.Call() if node.func.name == "absent":
            return {} if evaluate(node.args[0], now, before) else {frozenset(): 1.0}
        case promql.Call() if node.func.name == "increase":
            earlier = before.select(node.args[0].vector_selector)
            # A series with a single sample in its range has no increase.
            later = now.select(node.args[0].vector_selector)
            return {labels: value - earlier[labels] for labels, value in later.items() if labels in earlier}
        case promql.BinaryExpr() if not (node.modifier and (node.modifier.matching or node.modifier.return_bool)):
            return combine(str(node.op), evaluate(node.lhs, now, before), evaluate(node.rhs, now, before))
    raise TypeError(f"these tests cannot evaluate {node.prettify()}")


def combine(sign: str, left: Vector, right: Any) -> Vector:
    """Join two sides, series by series of the same labels."""
    if sign == "and":
        return {labels: value for labels, value in left.items() if labels in right}
    if sign == "or":
        return {**right, **left}
    pairs = {labels: right if isinstance(right, float) else right.get(labels) for labels in left}
    known = {labels: (left[labels], other) for labels, other in pairs.items() if other is not None}
    if sign in COMPARES:
        return {labels: mine for labels, (mine, other) in known.items() if COMPARES[sign](mine, other)}
    return {labels: COUNTS[sign](mine, other) for labels, (mine, other) in known.items()}


def selectors(node: Any) -> list[Any]:
    """Return every selector of an expression."""
    if isinstance(node, promql.VectorSelector):
        return [node]
    inner = [getattr(node, name, None) for name in ("lhs", "rhs", "expr", "vector_selector")]
    inner += list(getattr(node, "args", []))
    return [found for each in inner if each is not None for found in selectors(each)]
