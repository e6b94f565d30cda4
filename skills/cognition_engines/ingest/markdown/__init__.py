"""Markdown: its blocks, its front matter, and the pieces that documents are cut into."""
