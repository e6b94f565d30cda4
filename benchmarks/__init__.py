"""Measures one call end to end, its parts and their controls; see `python -m benchmarks --help`."""
