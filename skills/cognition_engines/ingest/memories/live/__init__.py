"""Collections of other systems that are read where they are, and never written."""
