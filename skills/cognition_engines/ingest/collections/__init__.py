"""Collections of Chroma, Qdrant, MongoDB and Firestore, which are read in place and never written."""
