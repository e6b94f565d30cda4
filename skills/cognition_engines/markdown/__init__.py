"""Markdown: its blocks, lines, tables and titles, without what is no text."""
