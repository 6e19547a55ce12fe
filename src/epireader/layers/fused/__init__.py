"""Recurrences whose chain of steps is one kernel, for GPUs. The plain layers beside this folder are what they must equal."""
