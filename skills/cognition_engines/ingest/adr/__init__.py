"""Architecture decision records in Markdown."""
