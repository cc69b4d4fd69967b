"""Machines and services that the product talks to, played on this machine: for demo, tests and benchmarks."""
