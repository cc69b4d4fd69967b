"""The runner on the OptiPlanning PC: a command, a Windows service and a status page; docs/optiplanning-pc.md."""
