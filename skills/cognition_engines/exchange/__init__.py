"""Export and import of records, line by line."""
