"""Simulators of the machines and services that the product talks to, for demo, tests and benchmarks."""
