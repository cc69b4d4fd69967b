"""A simulator of OptiPlanning and the saw, working in the configured folders."""
