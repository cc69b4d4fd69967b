"""OptiPlanning and the saw, played in the real folders."""
