"""Starts OptiPlanning: by command (mode A), by Excel macro (mode B), or by the operator's hand (mode C)."""

from orchestrator.optiplanning.adapters import Adapter, ByCommand, ByHand, ByMacro

__all__ = ["Adapter", "adapter"]


def adapter(mode: str) -> Adapter:
    adapters: dict[str, Adapter] = {"A": ByCommand(), "B": ByMacro(), "C": ByHand()}
    return adapters[mode]
