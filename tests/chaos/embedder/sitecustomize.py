"""Read by every Python that has this folder on its PYTHONPATH."""

from chaos_embedder import register

register()
