"""Texts to unit vectors: the packaged model, a model folder, or a function from Chroma's registry."""

import os

# once imported, onnxruntime reports to its maker and keeps a device id in the home folder, unless disabled
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
