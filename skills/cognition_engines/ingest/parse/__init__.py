"""YAML and JSON text to plain values with their lines, and lines to patterns."""
