"""Collections, folders and files that are kept in step."""
