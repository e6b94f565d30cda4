"""Markdown: blocks, lines, tables and titles, without parts that are no text."""
