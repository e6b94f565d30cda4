"""The places of files: those of a run, those of the store, and those of folders that were moved."""
