"""Collections of Chroma, Qdrant, MongoDB and Firestore, which are read where they are and never written."""
