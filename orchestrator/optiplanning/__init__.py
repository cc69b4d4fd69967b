"""Starting OptiPlanning, by command (A), Excel macro (B) or the operator (C), and collecting its solution."""

from orchestrator.optiplanning.adapters import Adapter, ByCommand, ByHand, ByMacro

__all__ = ["Adapter", "adapter"]


def adapter(mode: str) -> Adapter:
    adapters: dict[str, Adapter] = {"A": ByCommand(), "B": ByMacro(), "C": ByHand()}
    return adapters[mode]
