"""An engine over an agent's records: storage, indexes, retrieval, ingest.

`Engine` (`cognition_engines.engine`) answers queries in an event loop, `SyncEngine` (`cognition_engines.sync_engine`)
in notebooks and scripts. No module here uses HTTP or JSON-RPC.
"""
