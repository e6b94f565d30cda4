"""The kinds of records: one definition each, which validates, describes and stores it."""
