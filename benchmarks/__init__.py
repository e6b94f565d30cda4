"""Measures one call end to end, its parts and their controls; see `python -m benchmarks --help`."""

import os

# Before numpy is imported: its threads would go on spinning after a product, on the cores that the server needs.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
