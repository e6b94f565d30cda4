"""Startup module of every Python process with this folder on PYTHONPATH."""

from chaos_embedder import register

register()
