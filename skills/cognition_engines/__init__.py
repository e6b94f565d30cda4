"""Query skills over an agent's records: storage, indexes, retrieval, ingest.

Knows nothing of HTTP or JSON-RPC; usable from a notebook.
"""
