"""Common parts of the answers of several families: items, sizes, options of searches, and values of records."""
