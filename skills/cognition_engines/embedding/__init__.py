"""Texts to unit vectors: the packaged model, a model folder, or a function of Chroma's registry."""
